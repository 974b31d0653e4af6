"""Formats that other distributions bring: entry points of the group `skillfleet.loaders`."""

import logging
from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Protocol

from pydantic import TypeAdapter, ValidationError

from ..wire.plugins import LOADERS
from ..wire.shown import short
from .models import Skill, Skipped
from .problems import problem

log = logging.getLogger(__name__)


class Loader(Protocol):
    """`documents`: the names of files, one of which makes a folder a skill of this format."""

    documents: tuple[str, ...]

    def load(self, folder: Path) -> Skill | Skipped: ...


@dataclass(frozen=True, slots=True)
class NamedLoader:
    name: str
    documents: tuple[str, ...]
    loader: Loader


@cache
def loaders() -> tuple[NamedLoader, ...]:
    """In the order of their names; those that cannot be imported are left out, and the log says why."""
    found = (_loaded(entry) for entry in sorted(entry_points(group=LOADERS), key=lambda entry: entry.name))
    return tuple(loader for loader in found if loader)


def claiming(names: Collection[str]) -> NamedLoader | None:
    return next((loader for loader in loaders() if any(name in names for name in loader.documents)), None)


def load(named: NamedLoader, bare: Skill) -> Skill | Skipped:
    """What the loader makes of the folder of `bare`, under its name."""
    document = next((name for name in named.documents if (bare.root / name).exists()), "")
    try:
        found = named.loader.load(bare.root)
    except Exception as failed:  # noqa: BLE001 - code of strangers: whatever it raises is this skill's, not the catalog's
        return _failed(named, bare, document, f"{type(failed).__name__}: {short(failed, 300)}")
    if isinstance(found, Skipped):
        told = replace(found, name=bare.name, root=bare.root)
        return told if told.problems else _failed(named, bare, document, "it gives no reason")
    if not isinstance(found, Skill):
        return _failed(named, bare, document, f"it gives no skill, but {type(found).__name__}")
    try:
        _SKILL.validate_python({field.name: getattr(found, field.name) for field in fields(Skill)})
    except ValidationError as wrong:
        first = wrong.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        return _failed(named, bare, document, f"it gives a skill with a wrong {place}: {short(first['msg'])}")
    return replace(found, name=bare.name, root=bare.root, scope=bare.scope)


_SKILL: TypeAdapter[Skill] = TypeAdapter(Skill)


def _loaded(entry: EntryPoint) -> NamedLoader | None:
    try:
        made: Any = entry.load()
        loader = made() if isinstance(made, type) else made
        documents = tuple(loader.documents)
    except Exception as failed:  # noqa: BLE001 - code of strangers: whatever it raises, the other formats still load
        log.warning("The loader %s cannot be used: %s: %s", entry.name, type(failed).__name__, short(failed, 300))
        return None
    if not all(isinstance(name, str) and name for name in documents) or not callable(getattr(loader, "load", None)):
        log.warning("The loader %s cannot be used: it has no documents and load", entry.name)
        return None
    return NamedLoader(entry.name, documents, loader)


def _failed(named: NamedLoader, bare: Skill, document: str, why: str) -> Skipped:
    message = f"the loader {named.name!r} fails: {why}"
    return Skipped(bare.name, bare.root, (problem("loader-failed", message, document, severity="error"),))
