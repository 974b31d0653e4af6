"""Celery's consumer, with the events for Flower sent in batches: publishing them one by one took a third of
a worker's interpreter time, at the moment at which a call starts."""

from celery.worker import consumer

BATCH_S = 0.1


class Consumer(consumer.Consumer):
    """Named in the setting `worker_consumer`."""

    _batch_is_due = False

    def _flush_events(self) -> None:
        """Called in the loop for every event that was buffered."""
        if not self._batch_is_due:
            self._batch_is_due = True
            self.hub.call_later(BATCH_S, self._flush_batch)  # type: ignore[attr-defined]

    def _flush_batch(self) -> None:
        self._batch_is_due = False
        super()._flush_events()  # type: ignore[misc]
