"""Locks that threads and processes share: flock belongs to the open file, and ends with its process."""

import contextlib
import fcntl
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import IO

from .uv import BuildCancelledError

POLL_S = 0.05


@contextlib.contextmanager
def held(
    path: Path, cancelled: Event, *, shared: bool = False, waits: Callable[[], None] | None = None
) -> Iterator[None]:
    """`waits` is called once, if it is not free at once.

    Raises:
        BuildCancelledError: while it waited.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as lock:
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        free = _taken(lock, kind)
        if not free and waits is not None:
            waits()
        while not free:
            if cancelled.wait(POLL_S):
                raise BuildCancelledError
            free = _taken(lock, kind)
        try:
            yield
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)


@contextlib.contextmanager
def held_if_free(path: Path) -> Iterator[bool]:
    """Whether nobody else has it, not even shared; if so, it is held inside."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as lock:
        free = _taken(lock, fcntl.LOCK_EX)
        try:
            yield free
        finally:
            if free:
                fcntl.flock(lock, fcntl.LOCK_UN)


def _taken(lock: IO[str], kind: int) -> bool:
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
