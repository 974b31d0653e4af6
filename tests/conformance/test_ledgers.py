"""What the orchestrator may count on, whichever ledger it has."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.conformance.ledgers import (
    TTL_S,
    WORLDS,
    World,
    claimed,
    commit_steps,
    sequence,
    submitted,
)
from tests.conversation_steps import asks, list_skills, make_spec, says

from skillfleet.conversations.ledger import LEASE_S, Nothing
from skillfleet.conversations.messages import transcript_problem
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import CancelRequested, Submitted
from skillfleet_workers.wire.connection import RedisUrls


@pytest.fixture(params=["memory", "redis"])
def world(request: pytest.FixtureRequest) -> World:
    urls = request.getfixturevalue("redis_urls") if request.param == "redis" else RedisUrls("")
    return WORLDS[request.param](urls)


def test_what_is_submitted_is_claimed_as_it_was_given(world: World) -> None:
    (accepted,) = world.ledger.submit(make_spec())
    claim = claimed(world)
    spec = make_spec(created_at=accepted.at)
    assert claim.conversation == Conversation(spec=spec, messages=spec.opening)
    assert (claim.cancel, claim.records) == (False, {})
    assert accepted.id == "c1"
    assert claim.now >= accepted.at
    assert world.ledger.load("c1") == claim.conversation


def test_submitting_the_same_conversation_again_changes_nothing(world: World) -> None:
    accepted = world.ledger.submit(make_spec())
    commit_steps(world, claimed(world), Submitted())
    before = sequence(world)
    world.pass_time(1)
    assert world.ledger.submit(make_spec()) == accepted
    assert sequence(world) == before
    assert len(world.ledger.newest(10)) == 1
    assert isinstance(world.ledger.claim(), Nothing)


def test_a_conversation_is_claimed_once_until_its_lease_ends(world: World) -> None:
    submitted(world)
    first = claimed(world)
    found = world.ledger.claim()
    assert isinstance(found, Nothing)
    assert found.wait_s is not None and 0 < found.wait_s <= LEASE_S
    world.pass_time(LEASE_S)
    assert claimed(world).fence > first.fence


def test_many_claims_at_once_find_one_conversation_once(world: World) -> None:
    submitted(world)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: world.ledger.claim(), range(32)))
    assert sum(not isinstance(claim, Nothing) for claim in found) == 1


def test_nothing_open_is_told_apart_from_nothing_due(world: World) -> None:
    assert world.ledger.claim() == Nothing(None)
    assert world.ledger.claim("c1") == Nothing(None)


def test_a_renewed_lease_begins_anew(world: World) -> None:
    submitted(world)
    claim = claimed(world)
    world.pass_time(LEASE_S - 1)
    assert world.ledger.renew("c1", claim.fence)
    world.pass_time(LEASE_S - 1)
    assert isinstance(world.ledger.claim(), Nothing)
    world.pass_time(1)
    claimed(world)


def test_writes_with_a_stale_fence_change_nothing(world: World) -> None:
    submitted(world)
    stale = claimed(world)
    world.pass_time(LEASE_S)
    claimed(world)
    before = world.ledger.load("c1"), sequence(world)
    after = before[0]
    assert after is not None
    late = after.model_copy(update={"status": "completed"})
    assert not world.ledger.commit(stale.fence, late, [("ended", "{}")], None)
    assert not world.ledger.renew("c1", stale.fence)
    world.ledger.release("c1", stale.fence)
    assert (world.ledger.load("c1"), sequence(world)) == before
    assert isinstance(world.ledger.claim(), Nothing)


def test_a_commit_without_a_due_time_keeps_the_lease(world: World) -> None:
    submitted(world)
    claim = claimed(world)
    first = commit_steps(world, claim, Submitted())
    assert isinstance(world.ledger.claim(), Nothing)
    assert world.ledger.renew("c1", claim.fence)
    second = commit_steps(world, claim, asks(list_skills()), before=first)
    assert world.ledger.load("c1") == second


def test_a_commit_with_a_due_time_lets_go(world: World) -> None:
    submitted(world)
    claim = claimed(world)
    after = commit_steps(world, claim, Submitted(), asks(list_skills()), due_in=2)
    assert not world.ledger.renew("c1", claim.fence)
    assert not world.ledger.commit(claim.fence, after, [], None)
    assert isinstance(world.ledger.claim(), Nothing)
    world.pass_time(2)
    assert claimed(world).conversation == after


def test_messages_are_appended_and_the_stream_has_no_gap(world: World) -> None:
    submitted(world)
    claim = claimed(world)
    begun = commit_steps(world, claim, Submitted())
    asked = commit_steps(world, claim, asks(list_skills()), before=begun, due_in=0)
    again = claimed(world)
    assert again.conversation == asked
    ended = commit_steps(world, again, CancelRequested())
    assert world.ledger.load("c1") == ended
    assert transcript_problem(ended.messages) is None
    types = ["submitted", "message", "message", "turn", "message", "call", "message", "result", "ended"]
    assert sequence(world) == list(enumerate(types, start=1))


def test_what_is_released_is_due_at_once(world: World) -> None:
    submitted(world)
    held = claimed(world)
    world.ledger.release("c1", held.fence)
    assert claimed(world).fence > held.fence
    assert not world.ledger.renew("c1", held.fence)


def test_a_cancelled_conversation_that_is_released_is_due_at_once(world: World) -> None:
    submitted(world)
    world.ledger.cancel("c1")
    held = claimed(world)
    world.ledger.release("c1", held.fence)
    assert claimed(world).cancel


def test_only_the_named_conversation_is_claimed(world: World) -> None:
    submitted(world, "c1")
    submitted(world, "c2")
    assert claimed(world, "c2").conversation.id == "c2"
    assert isinstance(world.ledger.claim("c2"), Nothing)
    assert claimed(world).conversation.id == "c1"


def test_what_has_been_due_longest_is_claimed_first(world: World) -> None:
    names = ["c3", "c1", "c2"]
    for name in names:
        submitted(world, name)
        world.pass_time(1)
    assert [claimed(world).conversation.id for _ in names] == names


def test_what_is_due_but_gone_is_dropped(world: World) -> None:
    submitted(world, "gone")
    world.pass_time(1)
    submitted(world, "c1")
    world.forget("gone")
    assert world.ledger.claim() == Nothing(0.0)
    assert claimed(world).conversation.id == "c1"
    assert world.ledger.claim("gone") == Nothing(None)


def test_a_cancellation_is_seen_at_once_and_ends_the_lease(world: World) -> None:
    submitted(world)
    held = claimed(world)
    assert world.ledger.cancel("c1")
    assert not world.ledger.renew("c1", held.fence)
    assert claimed(world).cancel
    assert world.ledger.cancel("c1")


def test_a_cancellation_that_came_in_before_a_commit_is_looked_at_next(world: World) -> None:
    submitted(world)
    claim = claimed(world)
    world.ledger.cancel("c1")
    commit_steps(world, claim, Submitted(), asks(list_skills()), due_in=60)
    assert claimed(world).cancel


def test_an_unknown_conversation_cannot_be_cancelled_or_loaded(world: World) -> None:
    with pytest.raises(KeyError):
        world.ledger.cancel("nobody")
    assert world.ledger.load("nobody") is None
    assert world.ledger.entries("nobody", "0", 0) == []
    assert not world.ledger.renew("nobody", 1)


def test_an_ended_conversation_never_moves_again(world: World) -> None:
    submitted(world)
    claim = claimed(world)
    ended = commit_steps(world, claim, Submitted(), says("42"), due_in=0)
    assert ended.status == "completed"
    assert not world.ledger.renew("c1", claim.fence)
    world.ledger.release("c1", claim.fence)
    assert not world.ledger.cancel("c1")
    assert world.ledger.claim() == Nothing(None)
    world.pass_time(LEASE_S)
    assert world.ledger.claim("c1") == Nothing(None)
    assert world.ledger.load("c1") == ended


def test_an_ended_conversation_is_kept_for_a_time(world: World) -> None:
    submitted(world)
    commit_steps(world, claimed(world), Submitted(), says("42"))
    world.pass_time(TTL_S - 10)
    assert world.ledger.load("c1") is not None
    world.pass_time(10)
    assert world.ledger.load("c1") is None
    assert world.ledger.newest(10) == []
    assert world.ledger.entries("c1", "0", 0) == []
    with pytest.raises(KeyError):
        world.ledger.cancel("c1")


def test_an_open_conversation_is_kept_however_old(world: World) -> None:
    submitted(world)
    commit_steps(world, claimed(world), Submitted(), asks(list_skills()), due_in=2)
    world.pass_time(10 * TTL_S)
    assert claimed(world).conversation.status == "running"


def test_the_newest_come_first_and_without_their_messages(world: World) -> None:
    for name in ("c1", "c2", "c3"):
        submitted(world, name)
        world.pass_time(1)
    newest = world.ledger.newest(2)
    assert [conversation.id for conversation in newest] == ["c3", "c2"]
    assert all(conversation.messages == () for conversation in newest)
    assert [conversation.id for conversation in world.ledger.newest(2, 1)] == ["c2", "c1"]
    assert world.ledger.newest(2, 3) == []


def test_a_follower_reads_each_entry_once(world: World) -> None:
    submitted(world)
    first = world.ledger.entries("c1", "0", 0)
    assert world.ledger.entries("c1", first[-1].cursor, 0) == []
    commit_steps(world, claimed(world), Submitted())
    second = world.ledger.entries("c1", first[-1].cursor, 0)
    assert [entry.type for entry in second] == ["turn"]
    assert world.ledger.entries("c1", "0", 0) == first + second


def test_a_follower_waits_for_the_next_entry(world: World) -> None:
    submitted(world)
    cursor = world.ledger.entries("c1", "0", 0)[-1].cursor
    with ThreadPoolExecutor(1) as threads:
        follower = threads.submit(world.ledger.entries, "c1", cursor, 5)
        commit_steps(world, claimed(world), Submitted())
        assert [entry.type for entry in follower.result(10)] == ["turn"]


def test_the_doorbell_rings_for_what_is_due_now(world: World) -> None:
    submitted(world)
    assert world.bells() == 1
    world.ledger.wait(5)
    assert world.bells() == 0
    claim = claimed(world)
    world.ledger.cancel("c1")
    assert world.bells() == 1
    world.ledger.wait(5)
    world.ledger.wait(0.01)
    commit_steps(world, claim, Submitted(), asks(list_skills()), due_in=60)
    assert world.bells() == 1


def test_bells_that_nobody_hears_do_not_pile_up(world: World) -> None:
    submitted(world)
    for _ in range(200):
        world.ledger.cancel("c1")
    assert world.bells() == 64
