"""Files that a run hands back: moved out of its output folder, and described in its result."""

import mimetypes
import shutil
import time
from pathlib import Path

from .execution import Artifact

MAX_FILES = 100
MAX_BYTES = 100 * 1024 * 1024
"""Most bytes that one run may hand back; files beyond are left out."""


def collect_artifacts(output: Path, kept: Path) -> tuple[Artifact, ...]:
    """Move the regular files below `output` to `kept` (made when there are any). Links are not followed."""
    found: list[Artifact] = []
    room = MAX_BYTES
    for file in sorted(output.rglob("*")):
        if file.is_symlink() or not file.is_file() or len(found) == MAX_FILES:
            continue
        size = file.stat().st_size
        if size > room:
            continue
        room -= size
        name = file.relative_to(output)
        target = kept / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(file, target)
        media_type = mimetypes.guess_type(name.name)[0] or "application/octet-stream"
        found.append(Artifact(path=str(name), bytes=size, media_type=media_type, location=str(target)))
    return tuple(found)


def prune_artifacts(folder: Path, older_than_s: float) -> None:
    """Remove the kept files of conversations that nobody has written to for that long."""
    if not folder.is_dir():
        return
    horizon = time.time() - older_than_s
    for conversation in folder.iterdir():
        if conversation.stat().st_mtime < horizon:
            shutil.rmtree(conversation, ignore_errors=True)
