"""Where a skill's scripts may lie: a walk that never leaves the skill and never follows a link to a folder."""

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from ..wire.shown import is_text
from .languages import INTERPRETER_MAP
from .paths import SKIPPED_FOLDERS

SCRIPTS = "scripts"
MAX_FILES = 5_000
"""Of a skill with more, the others are not looked at."""

Stamp = tuple[int, ...]

_RANKS = {extension: rank for rank, extension in enumerate(INTERPRETER_MAP)}


def script_files(root: Path) -> Iterator[tuple[str, Stamp]]:
    """Paths in the skill of the files that may be scripts: those in scripts/ first, then those in its root; each
    with a stamp that changes with the file."""
    return islice(_files(root), MAX_FILES)


def module_folders(root: Path) -> set[Path]:
    return folders_beside(root, (path for path, _ in script_files(root)))


def folders_beside(root: Path, scripts: Iterable[str]) -> set[Path]:
    """Where scripts of the skill find modules of its own: its root, and beside each of them."""
    return {root, root / SCRIPTS, *((root / path).parent for path in scripts)}


def has_module(folders: Iterable[Path], name: str) -> bool:
    return any((folder / name).is_dir() or (folder / f"{name}.py").is_file() for folder in folders)


def _files(root: Path) -> Iterator[tuple[str, Stamp]]:
    folder = root / SCRIPTS
    if Path(os.path.realpath(folder)).is_relative_to(root):
        yield from _walk(folder, f"{SCRIPTS}/", deep=True)
    yield from _walk(root, "", deep=False)


def _walk(folder: Path, prefix: str, *, deep: bool) -> Iterator[tuple[str, Stamp]]:
    """A folder's own files before those of its folders; links to folders are not followed."""
    try:
        with os.scandir(folder) as listed:
            entries = sorted((entry for entry in listed if _is_candidate(entry.name)), key=_rank)
    except OSError:
        return
    for entry in entries:
        if not _is_folder(entry):
            yield prefix + entry.name, _stamp(entry)
    for entry in entries if deep else ():
        if entry.is_dir(follow_symlinks=False) and not _is_venv(Path(entry.path)):
            yield from _walk(Path(entry.path), f"{prefix}{entry.name}/", deep=True)


def _is_candidate(name: str) -> bool:
    return not name.startswith(".") and name not in SKIPPED_FOLDERS and name != "__init__.py" and is_text(name)


def _rank(entry: "os.DirEntry[str]") -> tuple[str, int, str]:
    """Files that differ in their extension only lie in the order of INTERPRETER_MAP."""
    stem, _, extension = entry.name.rpartition(".")
    return stem or extension, _RANKS.get(f".{extension.lower()}", len(_RANKS)), entry.name


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself
        return False


def _is_venv(folder: Path) -> bool:
    return (folder / "pyvenv.cfg").exists()


def _stamp(entry: "os.DirEntry[str]") -> Stamp:
    try:
        status = entry.stat()
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
