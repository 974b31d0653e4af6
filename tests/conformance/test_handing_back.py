"""Calls that a worker hands back because it has to go, or because it lost their runs: the same on either ledger."""

import json

import pytest
from tests.conformance.ledgers import DONE, WORLDS, World, claimed, commit_steps, sequence, submitted
from tests.conversation_steps import asks, list_skills, run_python

from skillfleet.conversations.dead import dead_report
from skillfleet.conversations.ledger import Claim, Nothing
from skillfleet.conversations.lost_calls import MAX_STARTS
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import Event, Submitted
from skillfleet.conversations.runs import ToolRun
from skillfleet.conversations.schedule import Sight, observe
from skillfleet_workers.wire.calls import CallResult
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.contract import CallRef, Effects

CALL = CallRef(conversation_id="c1", turn=1, index=0)


@pytest.fixture(params=["memory", "redis"])
def world(request: pytest.FixtureRequest) -> World:
    urls = request.getfixturevalue("redis_urls") if request.param == "redis" else RedisUrls("")
    return WORLDS[request.param](urls)


def attempt(number: int) -> CallRef:
    return CALL.model_copy(update={"attempt": number})


def call_out(world: World) -> Conversation:
    """Nobody would look at it for a minute."""
    submitted(world)
    return commit_steps(world, claimed(world), Submitted(), asks(run_python("a")), due_in=60)


def looked_at(world: World) -> tuple[Claim, list[Event]]:
    claim = claimed(world)
    return claim, observe(claim.conversation, claim.records, Sight(claim.now, cancel=claim.cancel, pause=claim.pause))


def handed_back(world: World, ref: CallRef, effects: Effects, lost: str = "") -> ToolRun:
    """What the orchestrator makes of it, without any time passing."""
    assert world.calls.claim(ref, "w1", effects) == "claimed"
    assert world.calls.hand_back(ref, lost) == "handed_back"
    claim, events = looked_at(world)
    (run,) = commit_steps(world, claim, *events, due_in=60).runs
    return run


def told_model(world: World) -> dict[str, str]:
    """The error that it sees last."""
    found = world.ledger.load("c1")
    assert found is not None
    told: dict[str, str] = json.loads(found.messages[-1].content or "")
    return told


KILLED = "its sandbox was killed; its output until then: half"


@pytest.mark.parametrize("effects", ["pure", "idempotent"])
def test_a_lost_run_that_may_be_repeated_is_sent_again_at_once_and_counted(world: World, effects: Effects) -> None:
    call_out(world)
    run = handed_back(world, CALL, effects, KILLED)
    assert (run.status, run.ref.attempt, run.losses, run.said) == (None, 2, 1, KILLED)
    assert world.calls.claim(attempt(2), "w2", effects) == "claimed"
    assert world.calls.commit(attempt(2), DONE) == "recorded"
    told = [entry for entry in world.ledger.entries("c1", "0", 0) if entry.type == "lost"]
    assert [entry.data for entry in told] == [{"key": CALL.key, "attempt": 1, "text": KILLED}]


def test_of_a_lost_run_that_must_not_be_repeated_the_model_is_told_what_its_worker_said(world: World) -> None:
    call_out(world)
    run = handed_back(world, CALL, "unsafe", KILLED)
    assert (run.status, run.losses, run.effects) == ("lost", 1, "unsafe")
    shown = told_model(world)
    assert shown["error"] == "worker_lost" and shown["message"].endswith(KILLED)
    (dead,) = world.ledger.dead(9)
    assert (dead_report(dead).reason, dead_report(dead).said) == ("unsafe", KILLED)


def test_a_run_that_is_lost_at_every_start_is_poison_and_its_worker_is_quoted(world: World) -> None:
    call_out(world)
    runs = [handed_back(world, attempt(number), "pure", f"{KILLED} {number}") for number in range(1, MAX_STARTS + 1)]
    assert [(run.status, run.losses) for run in runs] == [(None, 1), (None, 2), ("lost", MAX_STARTS)]
    shown = told_model(world)
    assert shown["error"] == "poison_call" and shown["message"].endswith(f"{KILLED} {MAX_STARTS}")
    (dead,) = world.ledger.dead(9)
    assert (dead_report(dead).reason, dead_report(dead).said) == ("poison", f"{KILLED} {MAX_STARTS}")
    assert world.calls.claim(attempt(MAX_STARTS + 1), "w1", "pure") == "ended"


def test_what_was_ended_by_its_worker_does_not_count_beside_what_was_lost(world: World) -> None:
    call_out(world)
    handed_back(world, CALL, "idempotent", KILLED)
    run = handed_back(world, attempt(2), "idempotent")
    assert (run.status, run.ref.attempt, run.losses) == (None, 3, 1)


@pytest.mark.parametrize("effects", ["pure", "idempotent"])
def test_a_call_that_may_be_repeated_is_due_at_once_and_sent_again(world: World, effects: Effects) -> None:
    call_out(world)
    run = handed_back(world, CALL, effects)
    assert (run.status, run.ref.attempt, run.losses) == (None, 2, 0)
    assert world.calls.claim(attempt(2), "w2", effects) == "claimed"
    assert world.calls.commit(attempt(2), DONE) == "recorded"


def test_a_call_that_must_not_be_repeated_is_told_to_the_model(world: World) -> None:
    call_out(world)
    run = handed_back(world, CALL, "unsafe")
    assert (run.status, run.losses, run.effects) == ("lost", 1, "unsafe")
    assert [call.run.ref.call_id for call in world.ledger.dead(9)] == [CALL.call_id]


def test_however_often_it_is_handed_back_it_is_no_poison(world: World) -> None:
    call_out(world)
    runs = [handed_back(world, attempt(number), "idempotent") for number in range(1, MAX_STARTS + 2)]
    assert [(run.status, run.losses) for run in runs] == [(None, 0)] * (MAX_STARTS + 1)


@pytest.mark.parametrize(("lost", "kind"), [("", "returned"), (KILLED, "lost")])
def test_handing_back_again_tells_and_changes_nothing(world: World, lost: str, kind: str) -> None:
    call_out(world)
    world.calls.claim(CALL, "w1", "pure")
    assert [world.calls.hand_back(CALL, lost) for _ in range(3)] == ["handed_back"] * 3
    assert [kind for _, kind in sequence(world)][-2:] == ["started", kind]


def test_what_an_older_attempt_hands_back_is_not_asked_for(world: World) -> None:
    call_out(world)
    assert world.calls.hand_back(CALL) == "duplicate"
    world.calls.claim(CALL, "w1", "pure")
    world.calls.claim(attempt(2), "w2", "pure")
    assert world.calls.hand_back(CALL) == "duplicate"
    world.calls.commit(attempt(2), DONE)
    assert world.calls.hand_back(attempt(2)) == "duplicate"
    assert "returned" not in [kind for _, kind in sequence(world)]


def test_nothing_is_handed_back_to_a_conversation_that_is_cancelled_or_unknown(world: World) -> None:
    call_out(world)
    world.calls.claim(CALL, "w1", "pure")
    world.ledger.cancel("c1")
    assert world.calls.hand_back(CALL) == "ended"
    assert world.calls.hand_back(CALL.model_copy(update={"conversation_id": "c9"})) == "ended"


@pytest.mark.parametrize("lost", ["", KILLED])
def test_it_is_seen_although_the_conversation_was_in_hand_meanwhile(world: World, lost: str) -> None:
    submitted(world)
    asked = (list_skills("a"), run_python("b"))
    commit_steps(world, claimed(world), Submitted(), asks(*asked), due_in=0)
    other = CALL.model_copy(update={"index": 1})
    world.calls.claim(other, "w1", "idempotent")
    claim = claimed(world)
    assert world.calls.hand_back(other, lost) == "handed_back"
    commit_steps(world, claim, due_in=60)

    claim, events = looked_at(world)
    again = commit_steps(world, claim, *events, due_in=60)
    assert [run.ref.attempt for run in again.runs] == [1, 2]


@pytest.mark.parametrize("lost", ["", KILLED])
def test_of_a_paused_conversation_it_is_sent_again_when_that_goes_on(world: World, lost: str) -> None:
    call_out(world)
    world.calls.claim(CALL, "w1", "idempotent")
    world.ledger.pause("c1")
    claim, events = looked_at(world)
    commit_steps(world, claim, *events, due_in=3600)
    assert world.calls.hand_back(CALL, lost) == "handed_back"
    claim, events = looked_at(world)
    (run,) = commit_steps(world, claim, *events, due_in=3600).runs
    assert run.ref.attempt == 1
    assert isinstance(world.ledger.claim(), Nothing)

    world.ledger.resume("c1")
    claim, events = looked_at(world)
    (run,) = commit_steps(world, claim, *events, due_in=60).runs
    assert (run.status, run.ref.attempt) == (None, 2)


def test_a_result_that_came_first_stands(world: World) -> None:
    call_out(world)
    world.calls.claim(CALL, "w1", "idempotent")
    failed = CallResult(status="failed", shown="{}", worker="w1")
    assert world.calls.commit(CALL, failed, retries=0) == "recorded"
    assert world.calls.hand_back(CALL) == "duplicate"
    claim, _ = looked_at(world)
    assert claim.records[CALL.key].result == failed
