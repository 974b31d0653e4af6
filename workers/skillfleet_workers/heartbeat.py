"""Proof of life of running calls, from a thread of its own: Celery's timers stop during a warm shutdown."""

import logging
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import redis

from .wire.calls import CallLedger
from .wire.contract import CallRef

EVERY_S = 1.0
REMEMBERED = 256
"""Conversations that were called off: a call may be claimed just before and begin to run just after."""

log = logging.getLogger(__name__)


class Heartbeat:
    def __init__(self, ledger: CallLedger, every_s: float = EVERY_S) -> None:
        self._ledger, self._every_s = ledger, every_s
        self._running: dict[CallRef, threading.Event] = {}
        self._called_off: deque[str] = deque(maxlen=REMEMBERED)
        self._ends_all = False
        self.takes_calls = True
        """False once the worker has to end: what comes to it then is for others."""
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()

    @contextmanager
    def running(self, ref: CallRef) -> Iterator[threading.Event]:
        """While inside, the call lives; the event is set when its result is no longer wanted."""
        cancelled = threading.Event()
        with self._lock:
            self._running[ref] = cancelled
            if self._ends_all or ref.conversation_id in self._called_off:
                cancelled.set()
        try:
            yield cancelled
        finally:
            with self._lock:
                del self._running[ref]

    def call_off(self, conversation_id: str) -> None:
        """None of this conversation's running calls is wanted any more."""
        with self._lock:
            self._called_off.append(conversation_id)
            unwanted = [ref for ref in self._running if ref.conversation_id == conversation_id]
            for ref in unwanted:
                self._running[ref].set()
        for ref in unwanted:
            log.info("call %s is called off", ref.task_id)

    def end_all(self) -> None:
        """Whatever runs is ended, to be handed back, and so is whatever would start from now on."""
        with self._lock:
            self._ends_all = True
            for ref, cancelled in self._running.items():
                log.info("call %s cannot finish in time", ref.task_id)
                cancelled.set()

    @property
    def ends_all(self) -> bool:
        return self._ends_all

    @property
    def busy(self) -> int:
        """How many calls run."""
        return len(self._running)

    def _run(self) -> None:
        while not self._stop.wait(self._every_s):
            with self._lock:
                running = dict(self._running)
            if not running:
                continue
            try:
                for ref in self._ledger.beat(running):
                    log.info("call %s is no longer wanted", ref.task_id)
                    running[ref].set()
            except redis.RedisError as error:
                log.warning("cannot reach redis to prove that calls live: %s", error)
