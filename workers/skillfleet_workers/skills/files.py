"""The few files that say what a skill is, read within bounds."""

from pathlib import Path

from ..wire.contract import ToolError
from .paths import open_inside
from .problems import Problem, Severity, problem

HEAD_BYTES = 65_536
"""The frontmatter and the first paragraph are looked for in this much of SKILL.md."""

JSON_BYTES = 262_144
"""A JSON file of a skill is not longer."""


def bounded(root: Path, name: str, limit: int, severity: Severity = "warning") -> bytes | Problem:
    """The whole file."""
    data = head(root, name, limit + 1, severity)
    if isinstance(data, bytes) and len(data) > limit:
        return problem("file-too-large", f"it is larger than {limit} bytes", name, severity=severity)
    return data


def head(root: Path, name: str, limit: int, severity: Severity = "error") -> bytes | Problem:
    """Its first bytes."""
    file = open_inside(root, name)
    if isinstance(file, ToolError):
        return problem("file-unreadable", file.message.rstrip("."), name, severity=severity)
    with file:
        return file.read(limit)
