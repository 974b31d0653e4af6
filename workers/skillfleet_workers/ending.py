"""How a worker ends: what runs may finish within a grace time, what cannot is handed back, and then it is gone."""

import logging
import os
import threading
import time

from .heartbeat import Heartbeat
from .wire.connection import HANDING_BACK_S

LOOK_EVERY_S = 0.1

log = logging.getLogger(__name__)


class Ending:
    """`grace_s`: how long running calls may go on once the end was asked for."""

    def __init__(self, heartbeat: Heartbeat, grace_s: float) -> None:
        self._heartbeat, self._grace_s = heartbeat, grace_s
        self._begun = self._hurried = False
        self._exit_code = 0

    def begin(self, exit_code: int = 0) -> None:
        """Safe in a signal handler; once is enough."""
        if not self._begun:
            self._begun, self._exit_code = True, exit_code
            self._heartbeat.takes_calls = False
            threading.Thread(target=self._run, name="ending", daemon=True).start()

    def hurry(self) -> None:
        """No more grace."""
        self._hurried = True

    def _run(self) -> None:
        """Celery waits for its threads, however long, and for a redis that is gone: this does not."""
        log.info("the worker is asked to end: %d calls may finish for %g s", self._heartbeat.busy, self._grace_s)
        give_up = time.monotonic() + self._grace_s
        while self._heartbeat.busy and not self._hurried and time.monotonic() < give_up:
            time.sleep(LOOK_EVERY_S)
        self._heartbeat.end_all()
        time.sleep(HANDING_BACK_S)
        log.warning("the worker does not end by itself, with %d calls in hand", self._heartbeat.busy)
        os._exit(self._exit_code)
