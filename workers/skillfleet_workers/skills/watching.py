"""Whether anything under the roots may have changed, told by the operating system instead of by looking."""

import atexit
import logging
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

from .listings import may_hold_skills
from .stamps import Stamp, stamp_of

LOOKS_EVERY_S = 30.0
"""Network mounts deliver no events, and a root may be mounted, or swapped, later."""

SETTLES_S = 1.0
"""What is written into a folder as soon as it is made may come before the folder is watched."""

GROUPED_MS = 400
STEP_MS = 50

log = logging.getLogger(__name__)


class Watching:
    """In a thread of its own until closed; for processes that live long."""

    def __init__(self, roots: Iterable[Path], *, looks_every_s: float = LOOKS_EVERY_S) -> None:
        self._roots = tuple(roots)
        self._looks_every_s = looks_every_s
        self._count = 0
        self._watched = False
        self._told = ""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watching", daemon=True)

    @property
    def mark(self) -> int | None:
        """As long as it stays the same, nothing has changed since it was asked for before; None: nobody knows."""
        return self._count if self._watched else None

    def start(self) -> Self:
        # A thread in foreign code must not be there any more when the interpreter ends.
        atexit.register(self.close)
        self._thread.start()
        return self

    def close(self) -> None:
        atexit.unregister(self.close)
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        while not self._stop.is_set():
            there = _there(self._roots)
            try:
                with _watcher(there) as notify:
                    self._count += 1
                    self._watched = True
                    self._watch(notify, there)
            except (OSError, WatchfilesRustInternalError) as failed:
                self._tell(str(failed))
            self._watched = False
            self._stop.wait(0 if there != _there(self._roots) else self._looks_every_s)

    def _tell(self, why: str) -> None:
        """Not again and again."""
        if why != self._told:
            log.warning("changes of skills are found by looking, as their folders cannot be watched: %s", why)
        self._told = why

    def _watch(self, notify: RustNotify, there: dict[Path, Stamp]) -> None:
        """Until the roots are others."""
        wait_s = self._looks_every_s
        while True:
            told = notify.watch(GROUPED_MS, STEP_MS, int(wait_s * 1000), self._stop)
            if told == "stop" or there != _there(self._roots):
                return
            if isinstance(told, str):
                self._count += 1
                wait_s = self._looks_every_s
            elif any(matters(path, there) for _, path in told):
                self._count += 1
                wait_s = min(SETTLES_S, self._looks_every_s)


def _watcher(roots: Iterable[Path]) -> RustNotify:
    # Told to ignore folders that it may not read, it would ignore those too for which the system has no watch left.
    return RustNotify(
        [str(path) for path in roots],
        debug=False,
        force_polling=False,
        poll_delay_ms=0,
        recursive=True,
        ignore_permission_denied=False,
    )


def _there(roots: Iterable[Path]) -> dict[Path, Stamp]:
    """The roots that there are, each with what it is."""
    found = {}
    for root in roots:
        try:
            real = root.resolve(strict=True)
            found[real] = stamp_of(real.stat())[:2]
        except OSError:
            continue
    return found


def matters(path: str, roots: Iterable[Path]) -> bool:
    """Not what is in folders of tools, and in hidden ones."""
    changed = Path(path)
    inner = (changed.relative_to(root).parts for root in roots if changed.is_relative_to(root))
    return any(all(may_hold_skills(part) for part in parts[:-1]) for parts in inner)
