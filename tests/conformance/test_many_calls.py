"""What a conversation may count on that has more calls in a turn than may be out at once, or little time left,
whichever the ledger."""

import pytest
from tests.conformance.ledgers import DONE, WORLDS, World, claimed, commit_steps, submitted
from tests.conversation_steps import asks, list_skills
from tests.forked_skills import ACTIVATED, activate

from skillfleet.conversations.engine import step
from skillfleet.conversations.ledger import Claim, Nothing
from skillfleet.conversations.moves import Event, StartChild, Submitted, TimeShort, ToolFinished
from skillfleet.conversations.schedule import Sight, observe
from skillfleet.settings import PARALLEL_CALLS
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.contract import CallRef

MANY = PARALLEL_CALLS + 2


@pytest.fixture(params=["memory", "redis"])
def world(request: pytest.FixtureRequest) -> World:
    urls = request.getfixturevalue("redis_urls") if request.param == "redis" else RedisUrls("")
    return WORLDS[request.param](urls)


def ref(index: int) -> CallRef:
    return CallRef(conversation_id="c1", turn=1, index=index)


def found(claim: Claim) -> list[Event]:
    return observe(claim.conversation, claim.records, Sight(claim.now))


def finish(world: World, index: int) -> None:
    assert world.calls.claim(ref(index), "w1") == "claimed"
    assert world.calls.commit(ref(index), DONE) == "recorded"


def calling(world: World) -> None:
    submitted(world)
    calls = (list_skills(f"id{number}") for number in range(MANY))
    commit_steps(world, claimed(world), Submitted(), asks(*calls), due_in=600)


def test_each_result_lets_one_more_call_go_until_all_are_sent(world: World) -> None:
    calling(world)
    assert world.calls.claim(ref(PARALLEL_CALLS), "w1") == "ended", "it has not been sent"
    for index in (0, 1):
        finish(world, index)
        claim = claimed(world)
        assert [type(event) for event in found(claim)] == [ToolFinished]
        commit_steps(world, claim, *found(claim), due_in=600)
        assert world.calls.claim(ref(PARALLEL_CALLS + index), "w1") == "claimed"
    finish(world, 2)
    assert isinstance(world.ledger.claim(), Nothing), "the others are awaited, and none waits to be sent"


def test_a_result_that_a_holder_has_not_seen_is_looked_at_next(world: World) -> None:
    calling(world)
    finish(world, 0)
    claim = claimed(world)
    finish(world, 1)
    commit_steps(world, claim, *found(claim), due_in=600)
    assert [type(event) for event in found(claimed(world))] == [ToolFinished]


def test_when_time_runs_short_neither_a_call_nor_a_child_is_wanted_any_more(world: World) -> None:
    submitted(world)
    commit_steps(world, claimed(world), Submitted(), asks(activate(), list_skills("b")), due_in=600)
    assert world.calls.claim(ref(1), "w1") == "claimed"
    assert world.calls.claim(ref(0), "w1") == "claimed"
    assert world.calls.commit(ref(0), ACTIVATED) == "recorded"
    claim = claimed(world)
    (event,) = found(claim)
    (start,) = (one for one in step(claim.conversation, event, claim.now)[1] if isinstance(one, StartChild))
    commit_steps(world, claim, event, due_in=0)
    world.ledger.submit(start.spec)
    claim = claimed(world, "c1")
    summing = commit_steps(world, claim, TimeShort(), due_in=600)
    assert (summing.out, summing.status) == ((), "running")
    assert world.calls.beat([ref(1)]) == [ref(1)]
    assert world.calls.commit(ref(1), DONE) == "ended"
    assert claimed(world, start.spec.id).cancel
