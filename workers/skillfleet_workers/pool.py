"""Celery's pool of threads, which gives back the slot of a call whose result could not be stored.

Celery's tracer raises when the result backend refuses the failure of a call too (redis is out of memory, or away for
longer than the backend tries). Nobody then tells the consumer that the call has ended: the slot would stay taken, and
a worker that has lost them all would take no call any more.
"""

from concurrent.futures import Future
from typing import Any

from billiard.einfo import ExceptionInfo
from celery.concurrency import thread


class Pool(thread.TaskPool):
    def on_apply(
        self,
        target: Any,
        args: Any = None,
        kwargs: Any = None,
        callback: Any = None,
        accept_callback: Any = None,
        **more: Any,
    ) -> Any:
        applied = super().on_apply(target, args, kwargs, callback, accept_callback, **more)

        def ended(done: "Future[Any]") -> None:
            if not done.cancelled() and (broken := done.exception()):
                failed = ExceptionInfo((type(broken), broken, broken.__traceback__))
                callback((True, failed, 0.0))

        applied.f.add_done_callback(ended)
        return applied
