"""The folders that skills are found under, the first shadowing the others."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..settings import WorkerSettings
from .models import Scope


@dataclass(frozen=True, slots=True)
class Root:
    """`path` need not exist: then it has no skills."""

    scope: Scope
    path: Path


def roots_of(settings: WorkerSettings) -> tuple[Root, ...]:
    return (
        Root("project", settings.skills_folder),
        Root("user", settings.user_skills),
        Root("system", settings.system_skills),
    )


def as_roots(given: Path | Iterable[Root]) -> tuple[Root, ...]:
    """A single folder is the project's."""
    return (Root("project", given),) if isinstance(given, Path) else tuple(given)
