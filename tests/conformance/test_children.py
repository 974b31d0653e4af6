"""What a conversation may count on whose skill is carried out by a child, whichever the ledger."""

import pytest
from tests.conformance.ledgers import DONE, WORLDS, World, claimed, commit_steps, submitted
from tests.conversation_steps import asks, list_skills, says
from tests.forked_skills import ACTIVATED, activate

from skillfleet.conversations.engine import step
from skillfleet.conversations.ledger import LEASE_S, Claim, Nothing
from skillfleet.conversations.looks import CHILD_LOOK_S
from skillfleet.conversations.models import ConversationSpec
from skillfleet.conversations.moves import (
    CancelRequested,
    ChildFinished,
    Effect,
    Event,
    Paused,
    StartChild,
    Submitted,
    TimeShort,
    ToolFinished,
)
from skillfleet.conversations.schedule import Sight, next_due, observe
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.contract import CallRef

FORK, OTHER = (CallRef(conversation_id="c1", turn=1, index=index) for index in (0, 1))
CHILD = "c1-1-0"


@pytest.fixture(params=["memory", "redis"])
def world(request: pytest.FixtureRequest) -> World:
    urls = request.getfixturevalue("redis_urls") if request.param == "redis" else RedisUrls("")
    return WORLDS[request.param](urls)


def activated(world: World, *, beside: bool = False) -> None:
    """A worker has answered. `beside`: another call of the turn is out."""
    submitted(world)
    others = [list_skills("b")] if beside else []
    commit_steps(world, claimed(world), Submitted(), asks(activate(), *others), due_in=60)
    assert world.calls.claim(FORK, "w1") == "claimed"
    assert world.calls.commit(FORK, ACTIVATED) == "recorded"


def found(claim: Claim) -> list[Event]:
    return observe(claim.conversation, claim.records, Sight(claim.now, cancel=claim.cancel, pause=claim.pause))


def effects_of(claim: Claim) -> list[Effect]:
    now, effects = claim.conversation, []
    for event in found(claim):
        now, more = step(now, event, claim.now)
        effects += more
    return effects


def forked(world: World, *, beside: bool = False) -> ConversationSpec:
    """The parent waits for a child that has not begun: its spec."""
    activated(world, beside=beside)
    claim = claimed(world)
    (start,) = (effect for effect in effects_of(claim) if isinstance(effect, StartChild))
    commit_steps(world, claim, *found(claim), due_in=60)
    return start.spec


def with_child(world: World, *, beside: bool = False) -> None:
    spec = forked(world, beside=beside)
    assert [one.id for one in world.ledger.submit(spec)] == [CHILD]


def end_child(world: World, answer: str = "bees dance") -> None:
    commit_steps(world, claimed(world), Submitted(), says(answer))


def told_of_child(world: World) -> list[str]:
    return [entry.data["status"] for entry in world.ledger.entries("c1", "0", 0) if entry.type == "child"]


def test_an_activation_that_forks_waits_for_no_other_call_of_the_turn(world: World) -> None:
    activated(world, beside=True)
    assert [type(event) for event in found(claimed(world))] == [ToolFinished]


def test_the_parent_rests_until_its_child_has_ended_and_finds_what_the_call_has_come_to(world: World) -> None:
    with_child(world)
    child = claimed(world)
    assert (child.conversation.id, child.conversation.spec.parent_call) == (CHILD, "c1.1.0")
    assert isinstance(world.ledger.claim(), Nothing)
    commit_steps(world, child, Submitted(), says("bees dance"))
    parent = claimed(world)
    assert found(parent) == [ChildFinished("1.0", "succeeded", "bees dance", ended="completed")]
    assert commit_steps(world, parent, *found(parent)).messages[-1].content == "bees dance"
    assert told_of_child(world) == ["queued", "completed"]


def test_a_child_that_is_begun_twice_is_one_and_is_told_once(world: World) -> None:
    spec = forked(world)
    first, again = world.ledger.submit(spec)[0], world.ledger.submit(spec)[0]
    assert first == again
    assert told_of_child(world) == ["queued"]
    assert len(world.ledger.newest(9)) == 2


def test_until_the_child_has_begun_every_look_begins_it(world: World) -> None:
    spec = forked(world)
    world.pass_time(60)
    claim = claimed(world)
    begins = [effect.spec.id for effect in effects_of(claim) if isinstance(effect, StartChild)]
    assert begins == [spec.id]
    assert next_due(claim.conversation, claim.records, Sight(claim.now)) == claim.now + CHILD_LOOK_S


def test_the_next_claim_knows_that_the_child_has_begun(world: World) -> None:
    with_child(world)
    world.pass_time(60)
    assert claimed(world, "c1").records["1.0"].begun == CHILD


def test_a_child_does_not_begin_once_its_parent_has_ended(world: World) -> None:
    spec = forked(world)
    world.ledger.cancel("c1")
    claim = claimed(world)
    commit_steps(world, claim, *found(claim))
    assert [one.id for one in world.ledger.submit(spec)] == [""]
    assert world.ledger.load(CHILD) is None


def test_a_child_does_not_begin_for_a_call_that_has_none(world: World) -> None:
    spec = forked(world)
    stray = spec.model_copy(update={"id": "c1-1-7", "parent_call": "c1.1.7"})
    assert [one.id for one in world.ledger.submit(stray)] == [""]


def test_a_parent_that_is_cancelled_takes_its_child_along(world: World) -> None:
    with_child(world)
    world.ledger.cancel("c1")
    parent = claimed(world, "c1")
    commit_steps(world, parent, *found(parent))
    child = claimed(world)
    assert (child.conversation.id, child.cancel) == (CHILD, True)
    assert commit_steps(world, child, *found(child)).status == "cancelled"
    last = claimed(world)
    assert commit_steps(world, last, *found(last)).status == "cancelled"
    assert told_of_child(world) == ["queued", "cancelled"]
    assert isinstance(world.ledger.claim(), Nothing)


def test_a_parent_that_is_cancelled_as_it_forks_ends(world: World) -> None:
    activated(world)
    world.ledger.cancel("c1")
    claim = claimed(world)
    assert [type(event) for event in found(claim)] == [ToolFinished, CancelRequested]
    assert commit_steps(world, claim, *found(claim)).ending == "cancelled"
    last = claimed(world)
    assert commit_steps(world, last, *found(last)).status == "cancelled"


def test_a_parent_that_has_answered_ends_when_its_child_has_and_counts_what_that_used(world: World) -> None:
    with_child(world)
    child = claimed(world)
    world.pass_time(60)
    parent = claimed(world, "c1")
    ending = commit_steps(world, parent, CancelRequested())
    assert (ending.terminal, world.ledger.ended("c1", 0)) == (False, False)
    assert world.ledger.pause("c1") is False
    assert isinstance(world.ledger.claim("c1"), Nothing)
    # What it was busy with comes in before anybody has ended it.
    commit_steps(world, child, Submitted(), says("bees dance"))
    last = claimed(world, "c1")
    assert commit_steps(world, last, *found(last)).children[0].status == "completed"
    assert told_of_child(world) == ["queued", "completed"]
    assert world.ledger.ended("c1", 0)


def test_a_child_that_ends_beside_its_parent_is_counted_before_that_ends(world: World) -> None:
    with_child(world)
    child = claimed(world)
    world.ledger.cancel("c1")
    parent = claimed(world)
    world.ledger.cancel(CHILD)
    ended, _ = step(parent.conversation, CancelRequested(), parent.now)
    commit_steps(world, child, CancelRequested())
    assert world.ledger.commit(parent.fence, ended, [], None) is None
    last = claimed(world, "c1")
    assert [type(event) for event in found(last)] == [ChildFinished, CancelRequested]
    assert commit_steps(world, last, *found(last)).status == "cancelled"


def test_the_end_of_a_child_that_a_holder_has_not_seen_is_looked_at_next(world: World) -> None:
    with_child(world)
    child = claimed(world)
    world.pass_time(60)
    parent = claimed(world, "c1")
    commit_steps(world, child, Submitted(), says("bees dance"))
    assert world.ledger.commit(parent.fence, parent.conversation, [], parent.now + 60) is not None
    assert [type(event) for event in found(claimed(world, "c1"))] == [ChildFinished]


def test_a_child_is_not_given_up_when_its_end_has_come_in_meanwhile(world: World) -> None:
    with_child(world)
    child = claimed(world)
    world.pass_time(60)
    parent = claimed(world, "c1")
    commit_steps(world, child, Submitted(), says("bees dance"))
    ended, _ = step(parent.conversation, CancelRequested(), parent.now)
    assert world.ledger.commit(parent.fence, ended, [], None) is None
    assert [type(event) for event in found(claimed(world, "c1"))] == [ChildFinished]


def test_a_child_that_was_told_to_end_may_say_so_while_its_parent_has_its_last_turn(world: World) -> None:
    with_child(world)
    world.pass_time(60)
    parent = claimed(world, "c1")
    closing = commit_steps(world, parent, TimeShort(), due_in=600)
    assert [child.leaving for child in closing.children] == [True]
    child = claimed(world, CHILD)
    assert child.cancel
    commit_steps(world, child, *found(child))
    world.pass_time(600)
    later = claimed(world, "c1")
    assert [child.status for child in commit_steps(world, later, *found(later), due_in=600).children] == ["cancelled"]


def test_other_calls_of_the_turn_come_in_as_ever(world: World) -> None:
    with_child(world, beside=True)
    assert world.calls.claim(OTHER, "w2") == "claimed"
    end_child(world)
    parent = claimed(world)
    assert commit_steps(world, parent, *found(parent), due_in=60).out[0].key == "1.1"
    assert world.calls.commit(OTHER, DONE) == "recorded"
    last = claimed(world)
    assert commit_steps(world, last, *found(last)).out == ()


def test_a_late_delivery_of_the_activation_is_left_alone(world: World) -> None:
    with_child(world)
    again = FORK.model_copy(update={"attempt": 2})
    assert world.calls.claim(again, "w2") == "ended"


def test_a_pause_is_looked_at_while_only_a_child_is_out_and_the_child_s_end_is_taken_while_it_lasts(
    world: World,
) -> None:
    with_child(world)
    child = claimed(world, CHILD)
    world.ledger.pause("c1")
    parent = claimed(world, "c1")
    assert parent.pause
    assert commit_steps(world, parent, Paused(), due_in=3600).status == "paused"
    commit_steps(world, child, Submitted(), says("bees dance"))
    settled = claimed(world)
    assert settled.conversation.id == "c1"
    assert commit_steps(world, settled, *found(settled), due_in=3600).status == "paused"


def test_a_child_that_is_lost_with_its_orchestrator_goes_on_when_its_lease_ends(world: World) -> None:
    with_child(world)
    claimed(world, CHILD)
    world.pass_time(LEASE_S)
    end_child(world)
    assert [type(event) for event in found(claimed(world, "c1"))] == [ChildFinished]
