"""What a worker may count on, whichever ledger it has; and what the orchestrator then finds."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.conformance.ledgers import DONE, WORLDS, World, claimed, commit_steps, sequence, submitted
from tests.conversation_steps import asks, list_skills, run_python

from skillfleet.conversations.engine import step
from skillfleet.conversations.ledger import LEASE_S, Nothing
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import CancelRequested, Submitted, ToolFinished, ToolLost
from skillfleet.events import changes
from skillfleet_workers.wire.calls import CallRecord
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.contract import CallRef, ScriptTool, UsedSkill

FIRST = CallRef(conversation_id="c1", turn=1, index=0)
SECOND = FIRST.model_copy(update={"index": 1})
AGAIN = FIRST.model_copy(update={"attempt": 2})


@pytest.fixture(params=["memory", "redis"])
def world(request: pytest.FixtureRequest) -> World:
    urls = request.getfixturevalue("redis_urls") if request.param == "redis" else RedisUrls("")
    return WORLDS[request.param](urls)


def two_calls_out(world: World, due_in: float = 60) -> Conversation:
    submitted(world)
    return commit_steps(world, claimed(world), Submitted(), asks(list_skills("a"), run_python("b")), due_in=due_in)


def record(world: World, ref: CallRef = FIRST) -> CallRecord:
    """As the next look at the conversation finds it."""
    world.pass_time(LEASE_S)
    world.pass_time(60)
    return claimed(world).records[ref.key]


def test_an_attempt_is_claimed_once(world: World) -> None:
    two_calls_out(world)
    assert world.calls.claim(FIRST, "w1") == "claimed"
    assert world.calls.claim(FIRST, "w1") == "taken"
    assert world.calls.claim(FIRST, "w2") == "taken"
    assert world.calls.claim(SECOND, "w2") == "claimed"


def test_of_many_deliveries_of_one_attempt_one_claims_it(world: World) -> None:
    two_calls_out(world)
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda n: world.calls.claim(FIRST, f"w{n}"), range(32)))
    assert sorted(answers) == ["claimed"] + ["taken"] * 31


def test_a_later_attempt_takes_over_from_an_earlier_one(world: World) -> None:
    two_calls_out(world)
    assert world.calls.claim(FIRST, "w1") == "claimed"
    assert world.calls.claim(AGAIN, "w2") == "claimed"
    assert world.calls.claim(FIRST, "w3") == "taken"
    assert world.calls.beat([FIRST, AGAIN]) == [FIRST]
    assert world.calls.commit(FIRST, DONE) == "duplicate"
    found = record(world)
    assert found == CallRecord(2, found.beat_at, "w2", None, sent_at=found.sent_at)


def test_the_first_result_wins(world: World) -> None:
    two_calls_out(world)
    world.calls.claim(FIRST, "w1")
    assert world.calls.commit(FIRST, DONE) == "recorded"
    assert world.calls.commit(FIRST, DONE.model_copy(update={"status": "failed"})) == "duplicate"
    assert world.calls.claim(AGAIN, "w2") == "taken"
    assert record(world).result == DONE


def test_a_result_of_a_call_that_was_never_started_is_not_taken(world: World) -> None:
    two_calls_out(world)
    assert world.calls.commit(FIRST, DONE) == "duplicate"
    assert world.calls.beat([FIRST]) == [FIRST]


def test_a_result_that_comes_back_late_from_a_silent_worker_counts_while_nobody_else_has_begun(world: World) -> None:
    two_calls_out(world, due_in=0)
    world.calls.claim(FIRST, "w1")
    commit_steps(world, claimed(world), ToolLost(FIRST.key), due_in=60)
    assert world.calls.commit(FIRST, DONE) == "recorded"
    assert world.calls.claim(AGAIN, "w2") == "taken"


def test_the_result_of_a_call_that_was_given_up_is_dropped(world: World) -> None:
    two_calls_out(world, due_in=0)
    world.calls.claim(SECOND, "w1")
    commit_steps(world, claimed(world), ToolLost(SECOND.key), due_in=60)
    before = sequence(world)
    assert world.calls.beat([SECOND]) == [SECOND]
    assert world.calls.commit(SECOND, DONE) == "ended"
    assert sequence(world) == before


def test_what_no_conversation_waits_for_is_neither_started_nor_recorded(world: World) -> None:
    assert world.calls.claim(FIRST, "w1") == "ended"
    assert world.calls.beat([FIRST]) == [FIRST]
    assert world.calls.commit(FIRST, DONE) == "ended"
    two_calls_out(world)
    never_sent = FIRST.model_copy(update={"index": 11})
    assert world.calls.claim(never_sent, "w1") == "ended"


def test_the_last_result_of_a_turn_makes_the_conversation_due_now(world: World) -> None:
    two_calls_out(world)
    world.ledger.wait(0.01)
    for ref in (FIRST, SECOND):
        assert world.bells() == 0
        assert isinstance(world.ledger.claim(), Nothing)
        world.calls.claim(ref, "w1")
        world.calls.commit(ref, DONE)
    assert world.bells() == 1
    assert set(claimed(world).records) == {FIRST.key, SECOND.key}


def test_results_that_all_came_in_before_a_commit_are_looked_at_next(world: World) -> None:
    two_calls_out(world, due_in=0)
    slow = claimed(world)
    world.calls.claim(SECOND, "w1")
    world.calls.commit(SECOND, DONE)
    commit_steps(world, slow, ToolFinished(FIRST.key, "succeeded", "x"), due_in=60)
    assert claimed(world).records[SECOND.key].result == DONE


def test_a_call_is_not_given_up_when_its_result_has_come_in_meanwhile(world: World) -> None:
    two_calls_out(world, due_in=0)
    world.calls.claim(SECOND, "w1")
    slow = claimed(world)
    world.calls.commit(SECOND, DONE)
    before = sequence(world)
    given_up, effects = step(slow.conversation, ToolLost(SECOND.key), slow.now)
    assert not world.ledger.commit(slow.fence, given_up, changes(slow.conversation, given_up, effects), None)
    assert sequence(world) == before
    again = claimed(world)
    assert again.conversation == slow.conversation
    assert again.records[SECOND.key].result == DONE


def test_results_that_came_in_while_others_are_missing_wait_for_them(world: World) -> None:
    two_calls_out(world, due_in=0)
    slow = claimed(world)
    world.calls.claim(SECOND, "w1")
    world.calls.commit(SECOND, DONE)
    commit_steps(world, slow, due_in=60)
    assert isinstance(world.ledger.claim(), Nothing)


def test_a_proof_of_life_is_dated(world: World) -> None:
    two_calls_out(world)
    world.calls.claim(FIRST, "w1")
    begun = record(world).beat_at
    for _ in range(10_000):
        world.pass_time(0.001)
        assert world.calls.beat([FIRST]) == []
        if record(world).beat_at > begun:
            return
    pytest.fail("no beat changed the record")


def test_calls_of_a_cancelled_conversation_are_no_longer_wanted(world: World) -> None:
    two_calls_out(world)
    world.calls.claim(FIRST, "w1")
    assert world.calls.beat([FIRST]) == []
    world.ledger.cancel("c1")
    assert world.calls.beat([FIRST]) == [FIRST]
    assert world.calls.claim(SECOND, "w1") == "ended"
    assert world.calls.commit(FIRST, DONE) == "ended"
    commit_steps(world, claimed(world), CancelRequested())
    assert world.calls.beat([FIRST]) == [FIRST]
    assert world.calls.claim(SECOND, "w1") == "ended"
    assert world.calls.commit(FIRST, DONE) == "ended"
    assert sequence(world)[-1][1] == "ended"


def test_starts_and_results_stand_in_the_stream_in_their_order(world: World) -> None:
    two_calls_out(world)
    quiet = len(sequence(world))
    world.calls.claim(FIRST, "w1")
    world.calls.claim(FIRST, "w2")
    used = UsedSkill(name="pdf", version="1.2.0", digest="d1")
    for _ in range(2):
        world.calls.commit(FIRST, DONE.model_copy(update={"used": used}))
    assert sequence(world)[quiet:] == [(quiet + 1, "started"), (quiet + 2, "result")]
    started, result = world.ledger.entries("c1", "0", 0)[quiet:]
    assert started.data == {"key": "1.0", "attempt": 1, "worker": "w1"}
    assert result.data == {
        "key": "1.0", "attempt": 1, "status": "succeeded", "tail": "nothing", "worker": "w1", "runtime": "",
        "ms": 2.5, "skill": "pdf", "version": "1.2.0",
    }  # fmt: skip


def test_the_tools_that_a_result_brings_reach_the_orchestrator_and_not_the_followers(world: World) -> None:
    two_calls_out(world)
    world.calls.claim(FIRST, "w1")
    tools = (ScriptTool(tool="pdf__extract", script="scripts/extract.py", language="python"),)
    world.calls.commit(FIRST, DONE.model_copy(update={"tools": tools}))
    found = record(world).result
    assert found is not None and found.tools == tools
    assert "tools" not in world.ledger.entries("c1", "0", 0)[-1].data
