"""A toolbox over skills that a test has written, on the strongest runtime that works here."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.workers.strongest import strongest

from skillfleet_workers.call_context import CallContext
from skillfleet_workers.environments.build import Environments
from skillfleet_workers.skills.catalog import SkillCatalog
from skillfleet_workers.skills.models import Skill
from skillfleet_workers.tools import Toolbox
from skillfleet_workers.wire.contract import CallRef, ToolError

FIRST = CallRef(conversation_id="c1", turn=1, index=0)


def context(**more: Any) -> CallContext:
    return CallContext(**{"ref": FIRST, "skills": None, "cancelled": threading.Event(), **more})


def digest_now(catalog: SkillCatalog, name: str) -> str:
    """Of the skill in the state in which it is."""
    found = catalog.find(name)
    assert isinstance(found, Skill), found
    return catalog.digest_of(found)


class DeclaringCatalog(SkillCatalog):
    """Its skills have what `declared` says of them besides, as if their files had said it."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.declared: dict[str, dict[str, Any]] = {}

    def find(self, name: str, allowed: Any = None, digest: str = "") -> Skill | ToolError:
        found = super().find(name, allowed, digest)
        return replace(found, **self.declared.get(name, {})) if isinstance(found, Skill) else found

    def list(self, allowed: Any = None) -> tuple[Skill, ...]:
        return tuple(replace(skill, **self.declared.get(skill.name, {})) for skill in super().list(allowed))


@contextmanager
def toolbox_in(folder: Path, **more: Any) -> Iterator[tuple[Toolbox, DeclaringCatalog]]:
    """`folder / "skills"` holds the skills."""
    (folder / "work").mkdir()
    catalog = DeclaringCatalog(folder / "skills")
    with strongest(folder / "work") as runtime:
        environments = Environments(folder / "environments")
        yield Toolbox(catalog, environments, runtime, 30, folder / "artifacts", **more), catalog
