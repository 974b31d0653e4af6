"""How a conversation's end reaches its running calls, whichever ledger it has."""

import pytest
from tests.conformance.ledgers import DONE, WORLDS, World, claimed, commit_steps, sequence, submitted
from tests.conversation_steps import asks, list_skills, make_spec, run_python, says

from skillfleet.conversations.ledger import LEASE_S
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import CancelRequested, DeadlinePassed, Event, Submitted, ToolFinished
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.contract import CallRef

FIRST = CallRef(conversation_id="c1", turn=1, index=0)
SECOND = FIRST.model_copy(update={"index": 1})
TIMEOUT_S = 100.0


@pytest.fixture(params=["memory", "redis"])
def world(request: pytest.FixtureRequest) -> World:
    urls = request.getfixturevalue("redis_urls") if request.param == "redis" else RedisUrls("")
    return WORLDS[request.param](urls)


def two_calls_out(world: World, due_in: float = 60) -> Conversation:
    world.ledger.submit(make_spec(timeout_s=TIMEOUT_S))
    return commit_steps(world, claimed(world), Submitted(), asks(list_skills("a"), run_python("b")), due_in=due_in)


def test_a_cancellation_is_told_to_the_workers_before_any_orchestrator_has_seen_it(world: World) -> None:
    two_calls_out(world)
    assert world.called_off() == []
    assert world.ledger.cancel("c1")
    assert world.called_off() == ["c1"]


@pytest.mark.parametrize("end", [CancelRequested(), DeadlinePassed()])
def test_an_end_with_calls_out_is_told_to_the_workers(world: World, end: Event) -> None:
    two_calls_out(world, due_in=0)
    commit_steps(world, claimed(world), end)
    assert world.called_off() == ["c1"]


def test_workers_are_not_bothered_with_ends_that_leave_no_call_out(world: World) -> None:
    submitted(world)
    commit_steps(world, claimed(world), Submitted(), says("42"))
    submitted(world, "c2")
    assert world.ledger.cancel("c2")
    commit_steps(world, claimed(world), CancelRequested())
    assert world.called_off() == []


def test_a_stale_end_is_told_to_nobody(world: World) -> None:
    two_calls_out(world, due_in=0)
    stale = claimed(world)
    world.pass_time(LEASE_S)
    claimed(world)
    late = stale.conversation.model_copy(update={"status": "failed"})
    assert not world.ledger.commit(stale.fence, late, [], None)
    assert world.called_off() == []


def test_past_the_deadline_calls_are_no_longer_wanted_though_no_orchestrator_has_looked(world: World) -> None:
    two_calls_out(world)
    world.calls.claim(FIRST, "w1")
    world.pass_time(TIMEOUT_S - 1)
    assert world.calls.beat([FIRST]) == []
    before = sequence(world)
    world.pass_time(1)
    assert world.calls.beat([FIRST]) == [FIRST]
    assert world.calls.claim(SECOND, "w1") == "ended"
    assert world.calls.commit(FIRST, DONE) == "ended"
    assert sequence(world) == before


def test_a_lease_is_not_renewed_past_the_deadline(world: World) -> None:
    world.ledger.submit(make_spec(timeout_s=10))
    claim = claimed(world)
    assert world.ledger.renew("c1", claim.fence)
    world.pass_time(10)
    assert not world.ledger.renew("c1", claim.fence)


def test_what_only_has_to_be_ended_is_claimed_before_all_else(world: World) -> None:
    for name in ("c1", "c2", "c3"):
        submitted(world, name)
        world.pass_time(1)
    world.ledger.cancel("c3")
    assert [claimed(world).conversation.id for _ in range(3)] == ["c3", "c1", "c2"]


def test_a_call_that_was_cancelled_is_recorded_once_as_cancelled(world: World) -> None:
    two_calls_out(world, due_in=0)
    for ref in (FIRST, SECOND):
        world.calls.claim(ref, "w1")
    world.calls.commit(SECOND, DONE)
    world.ledger.cancel("c1")
    found = claimed(world)
    ended = commit_steps(world, found, ToolFinished(SECOND.key, DONE.status, DONE.shown, "w1"), CancelRequested())
    assert world.calls.commit(FIRST, DONE) == "ended"
    assert [run.status for run in ended.runs] == ["cancelled", "succeeded"]
    results = [entry.data for entry in world.ledger.entries("c1", "0", 0) if entry.type == "result"]
    assert [(result["key"], result["status"]) for result in results] == [("1.1", "succeeded"), ("1.0", "cancelled")]
