"""A skill's folder, read into the one model."""

import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..wire.contract import ToolError
from .models import NO_VERSION, Scope, Skill, Skipped
from .paths import open_inside
from .problems import Problem
from .skill_md import read_skill_md

DOCUMENTATION = "SKILL.md"
HEAD_BYTES = 65_536
"""The frontmatter and the first paragraph are looked for in this much of SKILL.md."""


def read_skill(folder: Path, *, scope: Scope = "project", record: Mapping[str, Any] | None = None) -> Skill | Skipped:
    """The folder names the skill, and its version where it is called `name@1.2.0`.

    Raises:
        OSError: the folder itself cannot be read.
    """
    name, _, version = folder.name.partition("@")
    document = min(documents(folder), default=None, key=lambda found: (found != DOCUMENTATION, found))
    skill = Skill(name, Path(os.path.realpath(folder)), documentation=document, scope=scope)
    read = skill if document is None else _read(skill, document)
    if isinstance(read, Skipped):
        return read
    return replace(read, version=version or read.version or NO_VERSION)


def _read(skill: Skill, document: str) -> Skill | Skipped:
    file = open_inside(skill.root, document)
    if isinstance(file, ToolError):
        message = f"{document}: {file.message.rstrip('.')}"
        return Skipped(
            skill.name, skill.root, (Problem("unreadable", message, file.fix, document, severity="error"),)
        )
    with file:
        return read_skill_md(replace(skill, formats=("skill_md",)), file.read(HEAD_BYTES))


def marks_skill(names: Collection[str]) -> bool:
    """Whether files of these names make a folder a skill."""
    return any(name.lower() == DOCUMENTATION.lower() for name in names)


def documents(folder: Path) -> tuple[str, ...]:
    """Names of the files in it whose change makes a reading of it outdated; a new one changes the folder itself."""
    return tuple(sorted(entry.name for entry in folder.iterdir() if entry.name.lower() == DOCUMENTATION.lower()))
