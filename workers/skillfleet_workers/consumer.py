"""Celery's consumer, with the events for Flower sent in batches: publishing them one by one took a third of
a worker's interpreter time, at the moment at which a call starts. It soon finds a redis that has come back, and takes
no call with it when it stops."""

import logging
from functools import partial
from queue import Empty
from typing import Any

from celery.worker import consumer

from .wire.celery import celery_queue

BATCH_S = 0.5
RECONNECT_S = 1.0

log = logging.getLogger(__name__)


class Consumer(consumer.Consumer):
    """Named in the setting `worker_consumer`."""

    task_consumer: Any
    connection_errors: tuple[type[Exception], ...]
    _batch_is_due = False
    _followed: frozenset[str] = frozenset()
    wanted_queues: frozenset[str] = frozenset()
    """What it is to consume besides its own queue."""

    def on_ready(self) -> None:
        """Its loop begins, also after redis was away."""
        super().on_ready()
        self._follow_queues()

    def take_from(self, queues: frozenset[str]) -> None:
        """From these besides its own. Safe in any thread."""
        self.wanted_queues = queues
        if queues != self._followed:
            self.call_soon(self._follow_queues)

    def _follow_queues(self) -> None:
        """In its loop. A read that is under way ends within a second, and what it brings is put back where it was."""
        wanted = self.wanted_queues
        for name in sorted(wanted - self._followed):
            self.app.amqp.queues.add(celery_queue(name))
            self.add_task_queue(name)
        for name in sorted(self._followed - wanted):
            self.cancel_task_queue(name)
        self._followed = wanted

    def connect(self) -> Any:
        """Celery drops what was buffered while redis was away."""
        connection = super().connect()
        self._flush_batch()
        return connection

    def ensure_connected(self, conn: Any) -> Any:
        """Celery would wait for half a minute between two tries."""
        conn.ensure_connection = partial(
            conn.ensure_connection, interval_start=RECONNECT_S, interval_step=0, interval_max=RECONNECT_S
        )
        return super().ensure_connected(conn)

    def stop(self) -> None:
        """What the last blocking read brings is put back now: Celery reads it when the running calls have ended."""
        super().stop()
        channel: Any = self.task_consumer and self.task_consumer.channel
        if channel and channel._in_poll:
            try:
                channel._brpop_read()
            except Empty:
                pass
            except self.connection_errors as lost:
                log.warning("the last read of calls failed: %s", lost)

    def shutdown(self) -> None:
        """The loop that would send the last batch has ended, before the last calls did."""
        self._flush_batch()
        super().shutdown()

    def _flush_events(self) -> None:
        """Called in the loop for every event that was buffered."""
        if not self._batch_is_due:
            self._batch_is_due = True
            self.hub.call_later(BATCH_S, self._flush_batch)  # type: ignore[attr-defined]

    def _flush_batch(self) -> None:
        self._batch_is_due = False
        super()._flush_events()  # type: ignore[misc]
