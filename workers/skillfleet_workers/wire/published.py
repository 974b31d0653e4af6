"""What a worker says of its skills: the snapshot that orchestrators show to models, and route calls by."""

import hashlib
from functools import cached_property

from pydantic import ConfigDict

from .contract import WireModel

QUEUE_NAME = r"[a-z0-9-]{1,40}"
QUEUE_RULE = "lower-case letters, digits and '-', at most 40"
"""What skills and workers may call a queue; a route has the same form."""


class PublishedSkill(WireModel):
    """`digest` of the whole folder: what was published under it never changes. `hidden`: not for models to find
    (`disable-model-invocation`). `eligible`: the worker that says it can run it; else `reason` says why not. `route`:
    which workers take its calls, a part of a Celery queue's name; empty: all. `location`: of its documentation."""

    name: str
    version: str
    digest: str
    description: str
    location: str = ""
    tags: tuple[str, ...] = ()
    hidden: bool = False
    eligible: bool = True
    reason: str = ""
    route: str = ""


class Snapshot(WireModel):
    """Skills sorted by name, then by version; `id` is the hash of what they are."""

    model_config = ConfigDict(frozen=True, extra="ignore", ignored_types=(cached_property,))

    skills: tuple[PublishedSkill, ...] = ()

    @cached_property
    def id(self) -> str:
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:32]
