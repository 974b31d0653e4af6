"""Liveness means progress: a consumer that takes no calls although calls wait has hung, whatever its process does."""

import logging
import threading
import time
from collections.abc import Callable

import redis

LOOK_EVERY_S = 1.0
STALLED_AFTER_S = 15.0
STILL_LOOKS = 5
"""More looks than this left out: the process itself stood still (SIGSTOP, a frozen container), or redis was slow."""

STALLED_EXIT = 75
"""sysexits.h: a failure that passes; a supervisor starts the worker again."""

log = logging.getLogger(__name__)


class Watchdog:
    """`waiting`: how many calls wait, raises redis.RedisError; `taken`: how many were ever taken; `free`: whether
    there is a slot for one; `stalled` is called once."""

    def __init__(
        self,
        waiting: Callable[[], int],
        taken: Callable[[], int],
        free: Callable[[], bool],
        stalled: Callable[[], None],
        *,
        after_s: float = STALLED_AFTER_S,
        look_every_s: float = LOOK_EVERY_S,
    ) -> None:
        self._waiting, self._taken, self._free, self._stalled = waiting, taken, free, stalled
        self._after_s, self._look_every_s = after_s, look_every_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        taken, since = self._taken(), time.monotonic()
        looked = since
        while not self._stop.wait(self._look_every_s):
            last, looked = looked, time.monotonic()
            before, taken = taken, self._taken()
            stood_still = looked - last > STILL_LOOKS * self._look_every_s
            if stood_still or taken != before or not self._left_waiting():
                since = looked
            elif looked - since >= self._after_s:
                log.error("calls have waited for %g s, and none is taken: the worker starts over", self._after_s)
                self._stalled()
                return

    def _left_waiting(self) -> bool:
        try:
            return self._free() and self._waiting() > 0
        except redis.RedisError:  # nothing can be taken; Celery looks for redis too
            return False
