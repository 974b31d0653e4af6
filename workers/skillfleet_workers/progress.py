"""Tells those who follow a conversation what a running call is busy with, and what its script writes."""

import logging
import threading
from queue import SimpleQueue

import redis

from .wire.calls import CallLedger
from .wire.contract import CallRef
from .wire.execution import Output

MOST_WAITING = 16
"""Pieces of output that wait for redis; what comes while there are so many is dropped."""

log = logging.getLogger(__name__)


class Teller:
    """Gives up at the first failure: what is told may be lost, but the call must not wait for redis line by line."""

    def __init__(self, ledger: CallLedger, ref: CallRef) -> None:
        self._ledger, self._ref = ledger, ref
        self._heard = True

    def __call__(self, text: str) -> None:
        if not self._heard:
            return
        try:
            self._heard = self._ledger.progress(self._ref, text)
        except redis.RedisError as error:
            self._heard = False
            log.warning("call %s: its progress is no longer told: %s", self._ref.task_id, error)


class OutputTeller:
    """Tells from a thread of its own, started by the first piece: who calls this must not wait for redis. What is
    told may be lost."""

    def __init__(self, ledger: CallLedger, ref: CallRef) -> None:
        self._ledger, self._ref = ledger, ref
        self._waiting: SimpleQueue[Output | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False

    def __call__(self, output: Output) -> None:
        if self._closed or self.waiting >= MOST_WAITING:
            return
        self._waiting.put(output)
        if self._thread is None:
            self._thread = threading.Thread(target=self._tell, name="output", daemon=True)
            try:
                self._thread.start()
            except RuntimeError as error:  # the process has all the threads that it may have
                self._closed = True
                log.warning("call %s: its output is not told: %s", self._ref.task_id, error)

    @property
    def waiting(self) -> int:
        return self._waiting.qsize()

    def close(self) -> None:
        """What still waits is not told: the result is."""
        self._closed = True
        self._waiting.put(None)

    def _tell(self) -> None:
        away = False
        while (output := self._waiting.get()) is not None and not self._closed:
            try:
                self._closed = not self._ledger.output(self._ref, output)
                away = False
            except redis.RedisError as error:
                if not away:
                    log.warning("call %s: of its output is not told what comes now: %s", self._ref.task_id, error)
                away = True
