"""A skill's folder, read into the one model."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..wire.contract import ToolError
from .models import Scope, Skill, Skipped
from .paths import open_inside
from .problems import Problem
from .skill_md import read_skill_md

DOCUMENTATION = "SKILL.md"
HEAD_BYTES = 65_536
"""The frontmatter and the first paragraph are looked for in this much of SKILL.md."""


def read_skill(folder: Path, *, scope: Scope = "project", record: Mapping[str, Any] | None = None) -> Skill | Skipped:
    """`folder` is resolved. Its name is the skill's, but for an `@version` at its end."""
    name = folder.name.partition("@")[0]
    document = min(documents(folder), default=None, key=lambda found: (found != DOCUMENTATION, found))
    skill = Skill(name, folder, documentation=document, scope=scope)
    if document is None:
        return skill
    file = open_inside(folder, document)
    if isinstance(file, ToolError):
        message = f"{document}: {file.message.rstrip('.')}"
        return Skipped(name, folder, (Problem("unreadable", message, file.fix, document, severity="error"),))
    with file:
        read = read_skill_md(skill, file.read(HEAD_BYTES))
    return replace(read, formats=("skill_md",)) if isinstance(read, Skill) else read


def marks_skill(names: Collection[str]) -> bool:
    """Whether files of these names make a folder a skill."""
    return any(name.lower() == DOCUMENTATION.lower() for name in names)


def documents(folder: Path) -> tuple[str, ...]:
    """Names of the files in it whose change makes a reading of it outdated; a new one changes the folder itself."""
    return tuple(sorted(entry.name for entry in folder.iterdir() if entry.name.lower() == DOCUMENTATION.lower()))
