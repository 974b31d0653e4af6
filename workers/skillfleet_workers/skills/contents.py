"""The content of a skill's folder: every regular file and symlink, in one order, and nothing outside of it.

Each folder is opened from the one before it and none may be a symlink: whatever is swapped meanwhile, nothing outside
is touched. What is neither file nor symlink is passed over.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .paths import ENTER, SKIPPED_FOLDERS

REGENERATED = frozenset({"__pycache__", ".git", ".github", ".hg", ".svn", ".idea", ".vscode", ".ipynb_checkpoints",
                         ".mypy_cache", ".pytest_cache", ".ruff_cache"})  # fmt: skip
"""Of the folders that are passed over, those that no script can need."""

PASSED_OVER = SKIPPED_FOLDERS | REGENERATED | {".venv"}
"""Other hidden folders count: a script may well read, or run, what lies there."""

MAX_ENTRIES = 20_000
MAX_LEVELS = 40
"""What lies beyond is not looked at."""


@dataclass(frozen=True, slots=True)
class Entry:
    """`path` is relative. It is to be opened as `name` from `parent`, a descriptor, before the next one is asked for.
    A folder among them is one that is passed over, or too deep."""

    path: str
    name: str
    parent: int
    status: os.stat_result

    @property
    def is_link(self) -> bool:
        return stat.S_ISLNK(self.status.st_mode)

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.status.st_mode)

    @property
    def is_executable(self) -> bool:
        return bool(self.status.st_mode & stat.S_IXUSR)


@dataclass(slots=True)
class _Left:
    entries: int = MAX_ENTRIES


def contents(root: Path) -> Iterator[Entry]:
    """Raises OSError: of `root`, or where something that is there cannot be looked into."""
    descriptor = os.open(root, ENTER)
    try:
        yield from _inner(descriptor, "", _Left(), MAX_LEVELS)
    finally:
        os.close(descriptor)


def _inner(parent: int, prefix: str, left: _Left, levels: int) -> Iterator[Entry]:
    for name in sorted(os.listdir(parent), key=os.fsencode):
        try:
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            continue
        entry = Entry(prefix + name, name, parent, status)
        if stat.S_ISREG(status.st_mode) or entry.is_link or (entry.is_folder and (not levels or _passed_over(name))):
            if not left.entries:
                return
            left.entries -= 1
            yield entry
        elif entry.is_folder:
            descriptor = os.open(name, ENTER, dir_fd=parent)
            try:
                yield from _inner(descriptor, f"{entry.path}/", left, levels - 1)
            finally:
                os.close(descriptor)


def _passed_over(folder: str) -> bool:
    return folder in PASSED_OVER
