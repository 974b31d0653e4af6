"""Celery's consumer, with the events for Flower sent in batches: publishing them one by one took a third of
a worker's interpreter time, at the moment at which a call starts."""

from typing import Any

from celery.worker import consumer

BATCH_S = 0.1


class Consumer(consumer.Consumer):
    """Named in the setting `worker_consumer`."""

    _batch_is_due = False

    def connect(self) -> Any:
        """Celery drops what was buffered while redis was away."""
        connection = super().connect()
        self._flush_batch()
        return connection

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
