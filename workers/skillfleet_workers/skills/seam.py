"""What other parts are to bring, each under the name that it has there."""

import hashlib
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from ..wire.contract import ToolError
from .models import Scope, Skill, Skipped
from .paths import open_inside
from .problems import Problem
from .skill_md import read_skill_md


def marks_skill(names: Collection[str]) -> bool:  # reading.py
    return any(name.lower() in ("skill.md", "skill.json") for name in names)


def read_skill(folder: Path, *, scope: Scope = "project", record: Mapping[str, Any] | None = None) -> Skill | Skipped:
    """reading.py"""
    name = folder.name.partition("@")[0]
    document = next((entry.name for entry in folder.iterdir() if entry.name.lower() == "skill.md"), None)
    skill = Skill(name, folder, documentation=document, scope=scope)
    if document is None:
        return skill
    file = open_inside(folder, document)
    if isinstance(file, ToolError):
        return Skipped(name, folder, (Problem("unreadable", file.message, file.fix, document, severity="error"),))
    with file:
        return read_skill_md(skill, file.read(65_536))


def digest_of(root: Path) -> str:  # digests.py
    told = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.is_file() and not path.is_symlink():
            told.update(f"{path.relative_to(root)}\0{os.access(path, os.X_OK)}\0".encode() + path.read_bytes())
    return told.hexdigest()
