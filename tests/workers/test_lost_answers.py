"""A result that redis does not take at once."""

from collections.abc import Iterator
from typing import cast

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from tests.conformance.ledgers import RedisWorld, claimed, commit_steps, submitted
from tests.conversation_steps import asks, list_skills

from skillfleet.conversations.moves import Submitted
from skillfleet_workers.heartbeat import Heartbeat
from skillfleet_workers.tasks import CallRunner
from skillfleet_workers.tools import CallContext
from skillfleet_workers.wire.calls import CallLedger
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.contract import LIST_SKILLS, CallMessage, CallRef, ListSkills, SkillList

CALL = CallRef(conversation_id="c1", turn=1, index=0)
PAUSE_MS = 5000


@pytest.fixture
def impatient(redis_urls: RedisUrls) -> Iterator[redis.Redis]:
    """A client that gives up long before the pause is over."""
    with redis.Redis.from_url(
        redis_urls.url, db=1, decode_responses=True, socket_timeout=1, retry=Retry(NoBackoff(), 0)
    ) as client:
        yield client


@pytest.fixture
def world(redis_urls: RedisUrls) -> Iterator[RedisWorld]:
    """With the one call of a turn out."""
    world = RedisWorld(redis_urls)
    with world.client, world.ledger.client:
        submitted(world)
        commit_steps(world, claimed(world), Submitted(), asks(list_skills("a")), due_in=60)
        yield world


def test_a_result_is_recorded_although_redis_did_not_answer_in_time(
    world: RedisWorld, impatient: redis.Redis
) -> None:
    ledger = CallLedger(impatient)
    runner = CallRunner(ledger, Heartbeat(ledger), "w1")

    def tool(request: ListSkills, context: CallContext) -> SkillList:
        world.client.client_pause(PAUSE_MS)
        with pytest.raises(redis.TimeoutError):
            impatient.ping()
        return SkillList(skills=())

    assert runner.run(LIST_SKILLS, tool, CallMessage(ref=CALL, request={})) == {"skills": []}
    stored = cast(dict[str, str], world.client.hgetall("skillfleet:{c1}:calls"))
    assert stored["1.0:result"]
