"""A worker's scratch folder: private to it while it lives; what a killed worker left is removed by the next."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK = "lock"


@contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """A folder below `parent`, held by a lock that ends with this process however it ends."""
    parent.mkdir(parents=True, exist_ok=True)
    _remove_orphans(parent)
    folder = Path(tempfile.mkdtemp(prefix="worker-", dir=parent))
    held = _lock(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if held is not None:
            os.close(held)


def _remove_orphans(parent: Path) -> None:
    for folder in parent.iterdir():
        held = _lock(folder)
        if held is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(held)


def _lock(folder: Path) -> int | None:
    """The descriptor that holds the folder's lock; None where another process holds it, or it is gone."""
    try:
        descriptor = os.open(folder / LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
