"""What a person may count on who is asked about a call, whichever the ledger."""

import pytest
from tests.conformance.ledgers import DONE, WORLDS, World, claimed, commit_steps
from tests.conversation_steps import NOW, asks, list_skills, make_spec, run_python

from skillfleet.conversations.ledger import Claim, Nothing
from skillfleet.conversations.models import Conversation, Rule
from skillfleet.conversations.moves import CancelRequested, Submitted
from skillfleet.conversations.runs import Decision
from skillfleet.conversations.schedule import Sight, next_due, observe
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.contract import CallRef

FREE = CallRef(conversation_id="c1", turn=1, index=1)
APPROVED, DENIED = Decision(verdict="approved"), Decision(verdict="denied", text="Not today.")
ANSWERED = Decision(verdict="answered", text="Blue.")
WAIT_S = 1000.0


@pytest.fixture(params=["memory", "redis"])
def world(request: pytest.FixtureRequest) -> World:
    urls = request.getfixturevalue("redis_urls") if request.param == "redis" else RedisUrls("")
    return WORLDS[request.param](urls)


def waiting(world: World) -> Conversation:
    """Its first call waits for leave, its second for a worker."""
    spec = make_spec(timeout_s=100, wait_s=WAIT_S)
    world.ledger.submit(spec.model_copy(update={"rules": (Rule(verdict="ask", tool="run_python_script"),)}))
    asked = commit_steps(world, claimed(world), Submitted(), asks(run_python("a"), list_skills("b")), due_in=WAIT_S)
    assert asked.status == "waiting"
    return asked


def looked(world: World) -> tuple[Claim, Conversation]:
    """What an orchestrator makes of it, and when it looks again."""
    claim = claimed(world)
    events = observe(claim.conversation, claim.records, Sight(claim.now, claim.cancel, claim.pause))
    return claim, commit_steps(world, claim, *events, due_in=WAIT_S)


def told(world: World, kind: str) -> list[dict[str, object]]:
    return [entry.data for entry in world.ledger.entries("c1", "0", 0) if entry.type == kind]


def test_a_call_that_waits_for_a_person_is_nobodys_to_run_and_the_others_go_on(world: World) -> None:
    waiting(world)
    assert world.calls.claim(CallRef(conversation_id="c1", turn=1, index=0), "w1") == "ended"
    assert world.calls.claim(FREE, "w1") == "claimed"
    assert world.calls.commit(FREE, DONE) == "recorded"
    _, after = looked(world)
    assert after.status == "waiting"
    assert [run.status for run in after.runs] == [None, "succeeded"]
    assert isinstance(world.ledger.claim(), Nothing)
    (asked,) = told(world, "asked")
    assert (asked["key"], asked["kind"], asked["skill"]) == ("1.0", "approval", "calculator")


def test_the_first_word_counts_and_the_same_again_changes_nothing(world: World) -> None:
    waiting(world)
    assert world.ledger.decide("c1", "1.0", APPROVED) == "decided"
    assert world.ledger.decide("c1", "1.0", APPROVED) == "decided"
    assert world.ledger.decide("c1", "1.0", DENIED) == "decided_before"
    assert told(world, "decided") == [{"key": "1.0", "verdict": "approved", "text": ""}]
    _, after = looked(world)
    assert after.status == "running"
    assert [run.decision for run in after.runs] == [APPROVED, None]
    assert world.ledger.decide("c1", "1.0", DENIED) == "decided_before"
    assert world.calls.claim(CallRef(conversation_id="c1", turn=1, index=0), "w1") == "claimed"


def test_what_is_not_waited_for_is_refused_and_told_apart(world: World) -> None:
    waiting(world)
    assert world.ledger.decide("c1", "1.0", ANSWERED) == "other_kind"
    assert world.ledger.decide("c1", "1.1", APPROVED) == "not_asked"
    assert world.ledger.decide("c1", "7.7", APPROVED) == "not_asked"
    with pytest.raises(KeyError):
        world.ledger.decide("nobody", "1.0", APPROVED)
    world.ledger.cancel("c1")
    assert world.ledger.decide("c1", "1.0", APPROVED) == "ended"
    commit_steps(world, claimed(world), CancelRequested())
    assert world.ledger.decide("c1", "1.0", APPROVED) == "ended"
    assert told(world, "decided") == []


def test_a_word_that_comes_while_an_orchestrator_looks_is_looked_at_at_once(world: World) -> None:
    waiting(world)
    assert world.calls.claim(FREE, "w1") == "claimed"
    world.calls.commit(FREE, DONE)
    claim = claimed(world)
    world.ledger.decide("c1", "1.0", DENIED)
    events = observe(claim.conversation, claim.records, Sight(claim.now))
    commit_steps(world, claim, *events, due_in=WAIT_S)
    _, after = looked(world)
    assert [run.status for run in after.runs] == ["tool_error", "succeeded"]
    assert "Not today." in (after.messages[-2].content or "")


def test_the_wait_is_not_held_against_the_deadline_and_has_one_of_its_own(world: World) -> None:
    waiting(world)
    assert world.calls.claim(FREE, "w1") == "claimed"
    world.pass_time(WAIT_S - 100)
    assert world.calls.beat([FREE]) == []
    world.pass_time(101)
    assert world.calls.beat([FREE]) == [FREE]
    assert world.ledger.decide("c1", "1.0", APPROVED) == "ended"


def test_once_the_word_was_said_its_own_deadline_holds_again(world: World) -> None:
    waiting(world)
    assert world.calls.claim(FREE, "w1") == "claimed"
    world.ledger.decide("c1", "1.0", APPROVED)
    looked(world)
    world.pass_time(99)
    assert world.calls.beat([FREE]) == []
    world.pass_time(2)
    assert world.calls.beat([FREE]) == [FREE]


def test_a_pause_of_one_that_waits_pushes_the_end_of_the_wait_away(world: World) -> None:
    waiting(world)
    assert world.calls.claim(FREE, "w1") == "claimed"
    world.ledger.pause("c1")
    _, paused = looked(world)
    assert paused.status == "paused"
    world.pass_time(WAIT_S)
    assert world.ledger.decide("c1", "1.0", APPROVED) == "decided"
    _, still = looked(world)
    assert [run.asks for run in still.runs] == ["approval", ""]
    world.pass_time(WAIT_S)
    world.ledger.resume("c1")
    assert world.calls.beat([FREE]) == []
    _, after = looked(world)
    assert (after.status, [run.asks for run in after.runs]) == ("running", ["", ""])
    assert world.ledger.decide("c1", "1.0", DENIED) == "decided_before"


def test_a_conversation_that_waits_is_due_at_its_own_end_alone(world: World) -> None:
    waiting(world)
    assert world.calls.claim(FREE, "w1") == "claimed"
    world.calls.commit(FREE, DONE)
    _, after = looked(world)
    assert after.waiting_since is not None
    assert next_due(after, {}, Sight(NOW)) == after.waiting_since + WAIT_S
