"""What redis holds once everything has ended and its time is over: nothing more than before."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from celery import Celery
from tests.conformance.ledgers import DONE, RedisWorld, claimed, commit_steps, submitted
from tests.conversation_steps import asks, finished, make_spec, run_python, says

from skillfleet.conversations.ledger import Nothing
from skillfleet.conversations.moves import Submitted
from skillfleet.conversations.redis_ledger import RedisLedger
from skillfleet.conversations.retention import forget_expired
from skillfleet_workers.wire import keys
from skillfleet_workers.wire.blobs import INLINE_BYTES, Blobs
from skillfleet_workers.wire.celery import make_celery, send_call
from skillfleet_workers.wire.connection import FleetSettings, RedisUrls
from skillfleet_workers.wire.contract import RUN_PYTHON, CallMessage, CallRef

TTL_S = 3600
CONVERSATIONS = 300
BIG = {"skill_name": "lab", "script": "x" * (INLINE_BYTES + 1)}


@contextmanager
def keeping(urls: RedisUrls, folder: Path) -> Iterator[tuple[RedisWorld, Celery]]:
    """A ledger and a Celery app that keep things for TTL_S, on a broker that has served before."""
    world = RedisWorld(urls)
    world.ledger = RedisLedger(urls, "test", ttl_s=TTL_S)
    app = make_celery(FleetSettings(redis_url=None, state_dir=folder, fleet="test"))
    app.conf.update(broker_url=urls.broker, result_backend=urls.results, result_expires=TTL_S)
    with app.connection_for_write() as connection:
        app.amqp.queues["skills.test"](connection.default_channel).declare()
        yield world, app


def lived(world: RedisWorld, app: Celery, name: str) -> None:
    """A conversation from its submission to its end, with one call, by reference, and its result."""
    world.ledger.submit(make_spec(name).model_copy(update={"idempotency_key": f"key of {name}"}))
    called = commit_steps(world, (claim := claimed(world, name)), Submitted(), asks(run_python()), due_in=0)
    ref = CallRef(conversation_id=name, turn=1, index=0)
    send_call(app, RUN_PYTHON.name, Blobs(world.client, TTL_S).referred(CallMessage(ref=ref, request=BIG)))
    assert world.calls.claim(ref, "w1") == "claimed"
    assert world.calls.commit(ref, DONE) == "recorded"
    app.backend.store_result(ref.task_id, {"stdout": "42"}, "SUCCESS")
    claim = claimed(world, name)
    assert claim.conversation == called
    ended = commit_steps(world, claim, finished("1.0"), says("42"))
    assert ended.terminal


def taken(urls: RedisUrls, app: Celery) -> int:
    """How many messages waited for a worker, and are no more."""
    count = 0
    with app.connection_for_read() as connection:
        queue = app.amqp.queues["skills.test"](connection.default_channel)
        while queue.get(no_ack=True):
            count += 1
    return count


def sizes(urls: RedisUrls) -> tuple[int, int]:
    """Keys of the broker's database and of the ledger's."""
    with urls.client(broker=True) as broker, urls.client() as ledger:
        return broker.dbsize(), ledger.dbsize()


def time_is_over(urls: RedisUrls) -> None:
    """For all that has a time."""
    for broker in (True, False):
        with urls.client(broker=broker) as client:
            names = list(client.scan_iter(count=1000))
            pipe = client.pipeline(transaction=False)
            for name in names:
                pipe.ttl(name)
            for name, left in zip(names, pipe.execute(), strict=True):
                if 0 <= left <= TTL_S:
                    pipe.delete(name)
            pipe.execute()


def test_thousands_of_keys_are_all_gone_when_their_time_is_over(redis_urls: RedisUrls, state_dir: Path) -> None:
    with keeping(redis_urls, state_dir) as (world, app):
        send_call(app, RUN_PYTHON.name, CallMessage(ref=CallRef(conversation_id="c", turn=1, index=0), request={}))
        assert taken(redis_urls, app) == 1
        before = sizes(redis_urls)
        for number in range(CONVERSATIONS):
            lived(world, app, f"c{number}")
        assert sum(sizes(redis_urls)) > 7 * CONVERSATIONS
        assert taken(redis_urls, app) == CONVERSATIONS
        time_is_over(redis_urls)
        assert isinstance(world.ledger.claim(), Nothing)  # it forgets tenants that have nothing
        forget_expired(world.client, "test", ttl_s=0)
        assert sizes(redis_urls) == before


def test_an_orchestrator_that_has_nothing_to_do_forgets_what_is_gone(redis_urls: RedisUrls) -> None:
    world = RedisWorld(redis_urls)
    for name in ("gone", "kept"):
        submitted(world, name)
        world.client.zadd(keys.DEAD, {f"{name}.1.0": 1})
    world.client.zadd(keys.INDEX, {"gone": 1, "kept": 1})
    world.client.zadd(keys.FleetKeys("test").live, {"worker:silent": 1})
    world.client.delete(keys.state("gone"))
    world.ledger.wait(0.01)
    assert world.client.zrange(keys.INDEX, 0, -1) == ["kept"]
    assert world.client.zrange(keys.DEAD, 0, -1) == ["kept.1.0"]
    assert world.client.exists(keys.FleetKeys("test").live) == 0
