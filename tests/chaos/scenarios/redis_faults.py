"""What can befall redis but its death."""

import contextlib
import random
import time

import redis

from skillfleet_workers.wire.keys import task_queue

from .scenario import Verdict
from .siege import Siege, besieged


def broker_flushed(_: random.Random, full: bool) -> Verdict:
    """FLUSHDB of the broker's database alone, while calls wait there."""
    with besieged(orchestrators=1, workers=1) as siege:
        siege.submit(80 if full else 20)
        siege.in_the_midst()
        for _number in range(5 if full else 2):
            lost = siege.crew.redis.client().llen(task_queue(siege.side.settings.fleet))
            siege.crew.redis.client().flushdb()
            siege.verdict.facts.append(f"flushed {lost} messages")
            time.sleep(1.0)
        siege.all_end()
    return siege.verdict


def out_of_memory(_: random.Random, full: bool) -> Verdict:
    """maxmemory below what is used, under noeviction; then raised. What is submitted meanwhile is refused."""
    with besieged() as siege:
        siege.submit(40 if full else 12)
        siege.in_the_midst()
        admin = siege.crew.redis.client()
        admin.config_set("maxmemory", "1mb")
        time.sleep(20.0 if full else 4.0)
        accepted = len(siege.side.ids)
        with contextlib.suppress(redis.RedisError):
            siege.submit(1)
        refused = len(siege.side.ids) == accepted
        admin.config_set("maxmemory", "0")
        siege.verdict.facts.append(f"a submission meanwhile was {'refused' if refused else 'accepted'}")
        siege.all_end()
    return siege.verdict


def client_kill_storm(chance: random.Random, full: bool) -> Verdict:
    """Every connection is cut, again and again."""
    with besieged() as siege:
        siege.submit(40 if full else 12)
        siege.in_the_midst()
        cut = 0
        until = time.monotonic() + (20.0 if full else 4.0)
        while time.monotonic() < until:
            cut += _cut_all(siege)
            time.sleep(chance.uniform(0.05, 0.5))
        siege.verdict.facts.append(f"{cut} connections cut")
        siege.all_end()
    return siege.verdict


def _cut_all(siege: Siege) -> int:
    with siege.crew.redis.client() as admin:
        return sum(int(admin.client_kill_filter(_type=kind, skipme=True)) for kind in ("normal", "pubsub"))


def client_pause(_: random.Random, full: bool) -> Verdict:
    """Redis answers nobody for longer than a call may be silent."""
    with besieged() as siege:
        siege.submit(20)
        siege.in_the_midst()
        siege.crew.redis.client().client_pause(30_000 if full else 8_000)
        siege.all_end()
        siege.verdict.facts.append(f"{siege.roll.starts.total() - 3 * len(siege.side.ids)} scripts ran again")
    return siege.verdict
