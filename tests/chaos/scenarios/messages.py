"""What befalls the hints in the broker's queue."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import redis

from skillfleet_workers.wire.keys import task_queue

from .scenario import Verdict
from .siege import besieged, meanwhile

EVERY_S = 0.02


def every_message_twice(chance: random.Random, full: bool) -> Verdict:
    """Each hint is copied, the copies come later, the queue is shuffled. No script runs twice."""
    with besieged(orchestrators=1) as siege:
        queue = task_queue(siege.side.settings.fleet)
        with _copying(siege.crew.redis.client(), queue, chance) as copies:
            siege.submit(100 if full else 24)
            siege.in_the_midst()
            siege.all_end()
        siege.verdict.facts.append(f"{len(copies)} messages copied")
        if not copies:
            siege.verdict.violations.append("no message was copied")
        if extra := siege.roll.starts.total() - 3 * len(siege.side.ids):
            siege.verdict.violations.append(f"{extra} scripts were run again")
    return siege.verdict


@contextmanager
def _copying(broker: redis.Redis, queue: str, chance: random.Random) -> Iterator[set[str]]:
    seen: set[str] = set()
    late: list[str] = []

    def copy() -> None:
        there = cast(list[str], broker.lrange(queue, 0, -1))
        waiting = [message for message in there if message not in seen]
        seen.update(waiting)
        late.extend(waiting)
        for message in waiting:
            broker.rpush(queue, message)  # to be taken next, while the first one runs
        if late and chance.random() < 0.1:
            chance.shuffle(late)
            broker.rpush(queue, *late)
            late.clear()

    with meanwhile(copy, EVERY_S):
        yield seen
