"""Calls that are run again, or given up, and results that nobody wanted: the same on either ledger."""

import pytest
from tests.conformance.ledgers import DONE, WORLDS, World, claimed, commit_steps, sequence, submitted
from tests.conversation_steps import asks, list_skills, run_python, says

from skillfleet.conversations.ledger import Claim, Nothing
from skillfleet.conversations.lost_calls import MAX_STARTS
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import BackoffOver, Event, Submitted, ToolFinished
from skillfleet.conversations.schedule import LOST_AFTER_S, Sight, observe
from skillfleet_workers.wire.calls import CallResult
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.contract import CallRef, Effects

FIRST = CallRef(conversation_id="c1", turn=1, index=0)
SECOND = FIRST.model_copy(update={"index": 1})
FAILED = CallResult(status="failed", shown="{}", tail="no such file", worker="w1", runtime="warm", ms=3.0)


@pytest.fixture(params=["memory", "redis"])
def world(request: pytest.FixtureRequest) -> World:
    urls = request.getfixturevalue("redis_urls") if request.param == "redis" else RedisUrls("")
    return WORLDS[request.param](urls)


def attempt(number: int, ref: CallRef = FIRST) -> CallRef:
    return ref.model_copy(update={"attempt": number})


def two_calls_out(world: World, due_in: float = 60) -> Conversation:
    submitted(world)
    return commit_steps(world, claimed(world), Submitted(), asks(list_skills("a"), run_python("b")), due_in=due_in)


def looked_at(world: World, *, later_s: float = 0.0) -> tuple[Claim, list[Event]]:
    """The claim of what is due, and what it finds: `later_s` after the last proof of life."""
    claim = claimed(world)
    newest = max([claim.now, *(record.beat_at for record in claim.records.values())])
    return claim, observe(claim.conversation, claim.records, Sight(newest + later_s))


def lose(world: World, ref: CallRef, effects: Effects | None = None) -> Conversation:
    """A worker claims the call and dies; what the orchestrator makes of it."""
    assert world.calls.claim(ref, "w1", effects) == "claimed"
    world.pass_time(60)
    claim, events = looked_at(world, later_s=LOST_AFTER_S)
    return commit_steps(world, claim, *(event for event in events if event.key == ref.key), due_in=0)  # type: ignore[union-attr]


def run_of(conversation: Conversation, ref: CallRef) -> tuple[str | None, int, int, Effects | None]:
    run = next(run for run in conversation.runs if run.key == ref.key)
    return run.status, run.ref.attempt, run.losses, run.effects


def test_the_worker_says_whether_a_call_may_be_run_again(world: World) -> None:
    two_calls_out(world)
    assert run_of(lose(world, SECOND, "idempotent"), SECOND) == (None, 2, 1, "idempotent")


@pytest.mark.parametrize("told", ["unsafe", None])
def test_a_script_that_is_unsafe_or_of_which_nothing_is_known_is_never_repeated(
    world: World, told: Effects | None
) -> None:
    two_calls_out(world)
    assert run_of(lose(world, SECOND, told), SECOND) == ("lost", 1, 1, "unsafe")
    assert world.calls.claim(attempt(2, SECOND), "w2") == "ended"


def test_a_call_without_effects_is_run_again_where_its_worker_said_nothing(world: World) -> None:
    two_calls_out(world)
    assert run_of(lose(world, FIRST), FIRST) == (None, 2, 1, "pure")


def test_a_poison_call_is_given_up_and_its_payload_is_kept(world: World) -> None:
    two_calls_out(world)
    for number in range(1, MAX_STARTS + 1):
        assert world.ledger.dead(10) == []
        after = lose(world, attempt(number, SECOND), "idempotent")
    assert run_of(after, SECOND) == ("lost", MAX_STARTS, MAX_STARTS, "idempotent")
    assert "poison_call" in after.runs[1].shown
    (dead,) = world.ledger.dead(10)
    assert (dead.run, dead.conversation.id) == (after.runs[1], "c1")
    assert dead.run.request == {"skill_name": "calculator", "script": "print(6 * 7)"}
    assert dead.run.ref.call_id == "c1.1.1"


def test_a_dead_call_is_listed_once_and_as_long_as_its_conversation_is_kept(world: World) -> None:
    two_calls_out(world)
    lose(world, SECOND)
    first = world.ledger.dead(10)
    commit_steps(world, claimed(world), ToolFinished(FIRST.key, "succeeded", "[]"), says("done"))
    assert [call.at for call in world.ledger.dead(10)] == [call.at for call in first]
    world.forget("c1")
    assert world.ledger.dead(10) == []


def test_dead_calls_are_listed_newest_first(world: World) -> None:
    two_calls_out(world)
    lose(world, SECOND)
    lose(world, FIRST, "unsafe")
    assert [call.run.key for call in world.ledger.dead(10)] == [FIRST.key, SECOND.key]
    assert [call.run.key for call in world.ledger.dead(1)] == [FIRST.key]


def test_a_failure_that_is_to_be_repeated_is_no_result_and_is_looked_at_now(world: World) -> None:
    two_calls_out(world)
    world.calls.claim(SECOND, "w1", "idempotent")
    quiet = len(sequence(world))
    assert world.calls.commit(SECOND, FAILED, 2) == "again"
    claim, events = looked_at(world)
    after = commit_steps(world, claim, *events, due_in=60)
    assert run_of(after, SECOND) == (None, 2, 0, None)
    assert claim.records[SECOND.key].result is None
    assert [kind for _, kind in sequence(world)[quiet:]] == ["failed"]
    told = world.ledger.entries("c1", "0", 0)[quiet].data
    assert told == {"key": SECOND.key, "status": "failed", "text": "failed, and is run again: no such file"}


def test_the_failure_after_the_last_retry_is_the_result(world: World) -> None:
    two_calls_out(world)
    for number, answer in ((1, "again"), (2, "again"), (3, "recorded")):
        assert world.calls.claim(attempt(number, SECOND), "w1") == "claimed"
        assert world.calls.commit(attempt(number, SECOND), FAILED, 2) == answer
        if answer == "again":
            claim, events = looked_at(world)
            commit_steps(world, claim, *events, BackoffOver(SECOND.key), due_in=60)
    world.pass_time(60)
    assert claimed(world).records[SECOND.key].result == FAILED


def test_a_call_that_backs_off_is_nobodys_until_it_is_sent_again(world: World) -> None:
    two_calls_out(world)
    world.calls.claim(SECOND, "w1")
    world.calls.commit(SECOND, FAILED, 2)
    claim, events = looked_at(world)
    resting = commit_steps(world, claim, *events, due_in=0)
    assert world.calls.commit(SECOND, FAILED, 2) == "again"  # its worker has not heard the answer
    assert (world.calls.claim(SECOND, "w2"), world.calls.claim(attempt(2, SECOND), "w2")) == ("ended", "ended")
    assert world.calls.beat([SECOND]) == [SECOND]
    claim = claimed(world)
    assert claim.conversation == resting
    again = commit_steps(world, claim, BackoffOver(SECOND.key), due_in=60)
    assert [run.key for run in again.with_workers] == [FIRST.key, SECOND.key]
    assert world.calls.claim(attempt(2, SECOND), "w2") == "claimed"
    assert claim.conversation.dropped == 0


def test_a_failure_told_twice_counts_once(world: World) -> None:
    two_calls_out(world)
    world.calls.claim(SECOND, "w1")
    assert [world.calls.commit(SECOND, FAILED, 5) for _ in range(3)] == ["again"] * 3
    assert claimed(world).records[SECOND.key].failures == 1


def test_a_failure_that_comes_in_while_the_conversation_is_held_is_looked_at_next(world: World) -> None:
    two_calls_out(world, due_in=0)
    slow = claimed(world)
    world.calls.claim(SECOND, "w1")
    world.calls.commit(SECOND, FAILED, 1)
    commit_steps(world, slow, due_in=60)
    claim, events = looked_at(world)
    commit_steps(world, claim, *events, due_in=60)
    assert isinstance(world.ledger.claim(), Nothing)


def test_losses_are_counted_anew_after_a_failure(world: World) -> None:
    two_calls_out(world)
    lose(world, SECOND, "idempotent")
    world.calls.claim(attempt(2, SECOND), "w1", "idempotent")
    world.calls.commit(attempt(2, SECOND), FAILED, 1)
    claim, events = looked_at(world)
    commit_steps(world, claim, *events, BackoffOver(SECOND.key), due_in=60)
    assert run_of(lose(world, attempt(3, SECOND), "idempotent"), SECOND) == (None, 4, 1, "idempotent")


def test_late_and_second_results_are_dropped_and_counted(world: World) -> None:
    two_calls_out(world)
    other = DONE.model_copy(update={"worker": "w2"})
    world.calls.claim(FIRST, "w1")
    assert world.calls.commit(FIRST, DONE) == "recorded"
    assert world.calls.commit(FIRST, other) == "duplicate"
    world.calls.claim(SECOND, "w1")
    world.ledger.cancel("c1")
    assert world.calls.commit(SECOND, DONE) == "ended"
    found = world.ledger.load("c1")
    assert found is not None and found.dropped == 2
    assert [one.dropped for one in world.ledger.newest(1)] == [2]


def test_the_same_result_sent_twice_is_no_second_one(world: World) -> None:
    """As a client does whose connection broke before the answer came."""
    two_calls_out(world)
    world.calls.claim(FIRST, "w1")
    assert [world.calls.commit(FIRST, DONE) for _ in range(2)] == ["recorded"] * 2
    found = world.ledger.load("c1")
    assert found is not None and found.dropped == 0


def test_what_is_dropped_of_a_conversation_that_is_gone_leaves_nothing(world: World) -> None:
    assert world.calls.commit(FIRST, DONE) == "ended"
    assert world.ledger.load("c1") is None
