"""Full results of calls, as workers left them in Celery's result backend."""

import logging
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import redis
from pydantic import ValidationError

from skillfleet_workers.wire.contract import CallRef
from skillfleet_workers.wire.execution import ScriptExecution

if TYPE_CHECKING:
    from celery import Celery

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
        try:
            for attempt in range(ref.attempt, 0, -1):
                task_id = ref.model_copy(update={"attempt": attempt}).task_id
                kept = self._app.backend.get_task_meta(task_id, cache=False)
                if kept.get("status") == "SUCCESS":
                    return ScriptExecution.model_validate(kept["result"])
        except (redis.RedisError, ValidationError) as wrong:
            if not isinstance(wrong, ValidationError):  # else it is a document, or an error
                log.warning("cannot read the result of %s: %s", ref.call_id, wrong)
        return None
