"""What redis cannot expire by itself: entries of the fleet's own sets, once what they name is gone."""

from collections.abc import Callable
from typing import cast

import redis

from skillfleet_workers.wire import keys
from skillfleet_workers.wire.contract import CallRef
from skillfleet_workers.wire.presence import live_processes

BATCH = 500


def forget_expired(client: redis.Redis, fleet: str, ttl_s: int) -> None:
    """Doing it twice, or twice at once, harms nothing. Raises redis.RedisError.

    What was submitted less than `ttl_s` ago is there, for a conversation is kept that long after its end.
    """
    seconds, micros = client.time()
    until_ms = (seconds - ttl_s) * 1000 + micros // 1000
    _forget(client, keys.INDEX, until_ms, str)
    _forget(client, keys.FleetKeys(fleet).unarchived, until_ms, str)
    _forget(client, keys.DEAD, until_ms, lambda call_id: CallRef.of_call(call_id).conversation_id)
    live_processes(client, fleet)  # forgets who has been silent


def _forget(client: redis.Redis, key: str, until_ms: int, conversation: Callable[[str], str]) -> None:
    kept = 0
    while names := cast(list[str], client.zrangebyscore(key, "-inf", until_ms, start=kept, num=BATCH)):
        pipe = client.pipeline(transaction=False)
        for name in names:
            pipe.exists(keys.state(conversation(name)))
        gone = [name for name, there in zip(names, pipe.execute(), strict=True) if not there]
        kept += len(names) - len(gone)
        if gone:
            client.zrem(key, *gone)
