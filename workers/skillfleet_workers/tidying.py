"""What nobody needs any more is removed: at the start of a worker, and every hour."""

import logging
import threading
from collections.abc import Callable, Sequence

from .wire.store import StoreError

EVERY_S = 3600.0
log = logging.getLogger(__name__)


class Tidying:
    """A thread of its own: a store that is far away keeps no worker from its calls."""

    def __init__(self, chores: Sequence[Callable[[], object]], every_s: float = EVERY_S) -> None:
        self._chores, self._every_s = chores, every_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tidying", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Does not wait for a chore: nothing is lost where it is broken off."""
        self._stop.set()

    def _run(self) -> None:
        while True:
            for chore in self._chores:
                try:
                    chore()
                except (StoreError, OSError) as wrong:
                    log.warning("what is old is not removed: %s", wrong)
            if self._stop.wait(self._every_s):
                return
