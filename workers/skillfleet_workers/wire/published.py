"""What a worker says of its skills: the snapshot that orchestrators show to models, and route calls by."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from pydantic import ConfigDict, Field

from .contract import WireModel
from .versions import fitting, order, split

QUEUE_NAME = r"[a-z0-9-]{1,40}"
QUEUE_RULE = "lower-case letters, digits and '-', at most 40"
"""What skills and workers may call a queue; a route has the same form."""

TOPIC_NAME = r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*"
"""What is published has a topic of this form."""


class Entry(WireModel):
    """What runs a skill without a model. `script`: its path in the skill, empty: the skill only puts its dependencies
    together. `parameters`: the skill's parameters_schema. `dependencies`: the skills that run before it, and
    `inputs`: the values that it gives to some of their parameters, by skill; in these, and in those of its own (under
    its own name), the text `${SKILL.path.to.0.value}` stands for what that skill has come to. `topic`: its events are
    published as TOPIC.complete and TOPIC.failed, empty: nobody is told."""

    script: str = ""
    parameters: dict[str, Any] = Field(default_factory=dict)
    dependencies: tuple[str, ...] = ()
    inputs: dict[str, dict[str, Any]] = Field(default_factory=dict)
    topic: str = ""


class PublishedScript(WireModel):
    """`path`: in the skill."""

    path: str
    description: str = ""


class PublishedSkill(WireModel):
    """`digest` of the whole folder: what was published under it never changes. `hidden`: not for models to find
    (`disable-model-invocation`). `eligible`: the worker that says it can run it; else `reason` says why not. `route`:
    which workers take its calls, a part of a Celery queue's name; empty: all. `location`: of its documentation.
    `entry`: how it runs without a model, None: not at all. `scripts`: the first of those that it brings along."""

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
    entry: Entry | None = None
    scripts: tuple[PublishedScript, ...] = ()


class Snapshot(WireModel):
    """Skills sorted by name, then by version; `id` is the hash of what they are."""

    model_config = ConfigDict(frozen=True, extra="ignore", ignored_types=(cached_property,))

    skills: tuple[PublishedSkill, ...] = ()

    @cached_property
    def id(self) -> str:
        # A later release, which knows more fields, must come to the same.
        return hashlib.sha256(self.model_dump_json(exclude_defaults=True).encode()).hexdigest()[:32]

    @cached_property
    def _by_name(self) -> dict[str, list[PublishedSkill]]:
        named: defaultdict[str, list[PublishedSkill]] = defaultdict(list)
        for skill in self.skills:
            named[skill.name].append(skill)
        return named

    def find(self, name: str, digest: str = "") -> PublishedSkill | None:
        """`name@version`, or `name`: the highest version, an eligible one first. `digest`: in no other state."""
        bare, version = split(name)
        found = (one for one in self._by_name.get(bare, ()) if digest in ("", one.digest))
        return max(fitting(found, version), key=lambda one: (one.eligible, order(one.version)), default=None)


MOST_ROUTES = 100
"""Of one worker, besides what all workers take."""

NEEDS = "needs-"
"""Begins the routes of skills that demand something of their host: nobody has named these."""


def own_route(skill: PublishedSkill) -> str:
    """Of a skill that only some of the workers can run which its calls would else come to, and of those that the same
    workers can run."""
    return "skill-" + hashlib.sha256(f"{skill.name}@{skill.version}".encode()).hexdigest()[:8]


def merged(snapshots: Sequence[Snapshot]) -> Snapshot:
    """What workers can run together, each with its own snapshot: of every version of a skill the state that most of
    them can run, else the state that most have, with the first reason why it cannot be run."""
    offers: defaultdict[tuple[str, str], list[tuple[int, PublishedSkill]]] = defaultdict(list)
    for worker, snapshot in enumerate(snapshots):
        for skill in snapshot.skills:
            offers[skill.name, skill.version].append((worker, skill))
    chosen = [_chosen(offers[key]) for key in sorted(offers)]
    servers: defaultdict[str, set[int]] = defaultdict(set, {"": set(range(len(snapshots)))})
    for skill, able in chosen:
        servers[skill.route] |= able
    shared: dict[frozenset[int], str] = {}

    def route(skill: PublishedSkill, able: set[int]) -> str:
        kept = able == servers[skill.route]
        if not able or (kept and not skill.route.startswith(NEEDS)):
            return skill.route
        return shared.setdefault(frozenset(able), skill.route if kept else own_route(skill))

    return Snapshot(skills=tuple(skill.model_copy(update={"route": route(skill, able)}) for skill, able in chosen))


def routes_of(own: Snapshot, fleet: Snapshot) -> tuple[str, ...]:
    """Whose calls a worker takes, besides those that all take: `own` is its snapshot, `fleet` the merged one."""
    eligible = {(one.name, one.version, one.digest) for one in own.skills if one.eligible}
    return tuple(
        sorted({one.route for one in fleet.skills if one.route and (one.name, one.version, one.digest) in eligible})[
            :MOST_ROUTES
        ]
    )


def _chosen(offers: list[tuple[int, PublishedSkill]]) -> tuple[PublishedSkill, set[int]]:
    """With the workers that can run it."""
    can = [offer for offer in offers if offer[1].eligible]
    states = Counter(skill.digest for _, skill in can or offers)
    digest = min(states, key=lambda state: (-states[state], state))
    same = [offer for offer in can or offers if offer[1].digest == digest]
    if not can:
        return next((skill for _, skill in offers if skill.digest == digest and skill.reason), same[0][1]), set()
    shown = min((skill for _, skill in same), key=lambda skill: (skill.route, skill.location, skill.description))
    return shown, {worker for worker, _ in same}
