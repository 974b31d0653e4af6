"""Full results of calls, as workers left them in Celery's result backend."""

import logging
import time
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import redis
from pydantic import ValidationError

from skillfleet_workers.wire.contract import CallRef
from skillfleet_workers.wire.execution import ScriptExecution

if TYPE_CHECKING:
    from celery import Celery

PATIENCE_S, LOOK_S = 5.0, 0.02
"""A worker writes it a moment after the call is in the ledger; on a busy machine that is long."""

log = logging.getLogger(__name__)


class CeleryResults:
    """`connect` makes the Celery app; few conversations ever need it."""

    def __init__(self, connect: Callable[[], "Celery"]) -> None:
        self._connect = connect

    @cached_property
    def _app(self) -> "Celery":
        return self._connect()

    def execution(self, ref: CallRef) -> ScriptExecution | None:
        """Of the newest attempt that has one. Where redis is away there is none: the reply that asks for it has been
        paid."""
        give_up = time.monotonic() + PATIENCE_S
        try:
            while (found := self._newest(ref)) is None and time.monotonic() < give_up:
                time.sleep(LOOK_S)
            return ScriptExecution.model_validate(found) if found else None
        except ValidationError:  # a document, or an error
            return None
        except redis.RedisError as wrong:
            log.warning("cannot read the result of %s: %s", ref.call_id, wrong)
            return None

    def _newest(self, ref: CallRef) -> dict[str, Any] | None:
        for attempt in range(ref.attempt, 0, -1):
            task_id = ref.model_copy(update={"attempt": attempt}).task_id
            kept = self._app.backend.get_task_meta(task_id, cache=False)
            if kept.get("status") == "SUCCESS":
                return dict(kept["result"])
        return None
