"""Files that a run hands back: moved out of its output folder, and described in its result."""

import logging
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from .execution import Artifact
from .media_types import HEAD_BYTES, media_type_of
from .shown import is_text

ARTIFACTS = "artifacts"
STORE = f"{ARTIFACTS}/store"
"""In the state folder: what runs have handed back, and the artifact store unless it is elsewhere."""

MAX_FILES = 100
MAX_BYTES = 100 * 1024 * 1024
"""Most that one run may hand back, where files beyond are left out; most that one file of a conversation has."""

MAX_DEPTH = 32
log = logging.getLogger(__name__)


def collect_artifacts(output: Path, kept: Path) -> tuple[Artifact, ...]:
    """Move the regular files below `output` to `kept` (made when there are any).

    All of it may be made to mislead: no link is followed, not even in the place of `output`; no mode is kept.
    """
    if output.is_symlink():
        return ()
    found: list[Artifact] = []
    room = MAX_BYTES
    for file in _files(output):
        if len(found) == MAX_FILES:
            break
        size = file.stat().st_size
        if size > room:
            continue
        room -= size
        name = file.relative_to(output)
        target = kept / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(file, target, copy_function=shutil.copyfile)
            target.chmod(0o644)
            media_type = media_type_of(name.name, _head(target))
        except OSError as wrong:  # a path too long, a full disk: the run has its result all the same
            log.warning("a file of a run is not kept: %s", wrong)
            continue
        found.append(Artifact(path=str(name), bytes=size, media_type=media_type, location=str(target)))
    return tuple(found)


def _head(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(HEAD_BYTES)


def _files(folder: Path, depth: int = 0) -> Iterator[Path]:
    """In order; without those that can't be read or told."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return  # closed by the script itself, or nested deeper than a path can say
    for entry in entries:
        if not is_text(entry.name):
            continue
        if entry.is_dir(follow_symlinks=False):
            if depth < MAX_DEPTH:
                yield from _files(Path(entry), depth + 1)
        elif entry.is_file(follow_symlinks=False) and os.access(entry, os.R_OK):
            yield Path(entry)


def prune_artifacts(folder: Path, older_than_s: float) -> None:
    """Remove the kept files of conversations that nobody has written to for that long."""
    if not folder.is_dir():
        return
    horizon = time.time() - older_than_s
    for conversation in folder.iterdir():
        if conversation.name != Path(STORE).name and conversation.stat().st_mtime < horizon:
            shutil.rmtree(conversation, ignore_errors=True)
