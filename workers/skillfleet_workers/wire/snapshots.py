"""Snapshots of skills in redis, under their hash: whoever knows the id reads what it stood for."""

import threading
from collections import OrderedDict

import redis

from . import keys
from .published import Snapshot

MOST_CACHED = 64


class Snapshots:
    """Kept for `ttl_s` seconds after the last use. Safe to share between threads. Raises redis.RedisError."""

    def __init__(self, client: redis.Redis, ttl_s: int) -> None:
        self._client, self._ttl_s = client, ttl_s
        self._known: OrderedDict[str, Snapshot] = OrderedDict()
        self._lock = threading.Lock()

    def write(self, snapshot: Snapshot) -> str:
        """Its id. What is there already only lives longer."""
        key = keys.snapshot(snapshot.id)
        if not self._client.expire(key, self._ttl_s):
            self._client.set(key, snapshot.model_dump_json(), ex=self._ttl_s)
        self._remember(snapshot.id, snapshot)
        return snapshot.id

    def read(self, snapshot_id: str) -> Snapshot | None:
        """None: nobody has written it, or it was not used for too long."""
        with self._lock:
            known = self._known.get(snapshot_id)
        if known is not None:
            return known
        text = self._client.getex(keys.snapshot(snapshot_id), ex=self._ttl_s)
        if text is None:
            return None
        found = Snapshot.model_validate_json(text)
        self._remember(snapshot_id, found)
        return found

    def _remember(self, snapshot_id: str, snapshot: Snapshot) -> None:
        with self._lock:
            self._known[snapshot_id] = snapshot
            while len(self._known) > MOST_CACHED:
                self._known.popitem(last=False)
