"""Tells those who follow a conversation what a running call is busy with."""

import logging

import redis

from .wire.calls import CallLedger
from .wire.contract import CallRef

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
