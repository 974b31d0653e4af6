"""What the live workers of a fleet can run, as they publish it."""

import threading
import time
from collections.abc import Callable, Sequence

import redis

from skillfleet_workers.wire.presence import LiveProcess
from skillfleet_workers.wire.published import Snapshot, merged
from skillfleet_workers.wire.snapshots import Snapshots

FRESH_S = 0.25
"""What was published so long ago, seconds, is in every look."""


class Catalogs:
    """`ttl_s`: how long a snapshot that nobody uses can be read, seconds. Safe to share between threads. Raises
    redis.RedisError."""

    def __init__(
        self,
        client: redis.Redis,
        ttl_s: int,
        workers: Callable[[], Sequence[LiveProcess]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._snapshots, self._workers, self._clock = Snapshots(client, ttl_s), workers, clock
        self._lock = threading.Lock()
        self._seen_at = float("-inf")
        self._ids: tuple[str, ...] | None = None
        self._merged: Snapshot | None = None

    def current(self) -> Snapshot | None:
        """What they can run together, older than that by `FRESH_S` at most, kept under its id; None: none of
        them has told."""
        with self._lock:
            begun = self._clock()
            if begun - self._seen_at >= FRESH_S:
                self._look()
                self._seen_at = begun
            return self._merged

    def read(self, snapshot_id: str) -> Snapshot | None:
        """None: it was not used for too long."""
        return self._snapshots.read(snapshot_id)

    def _look(self) -> None:
        ids = tuple(sorted(one.snapshot for one in self._workers() if one.snapshot))
        if ids != self._ids:
            told = [found for name in ids if (found := self._snapshots.read(name))]
            self._ids = ids if len(told) == len(ids) else None
            self._merged = merged(told) if told else None
        if self._merged is not None:
            self._snapshots.write(self._merged)
