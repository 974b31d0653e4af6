"""What a tree of conversations may count on, whichever the ledger."""

from dataclasses import replace

import pytest
from tests.conformance.ledgers import WORLDS, World, claimed, commit_steps
from tests.conversation_steps import asks, call, make_spec, says

from skillfleet.conversations.engine import step
from skillfleet.conversations.ledger import Claim, Nothing
from skillfleet.conversations.limits import Usage
from skillfleet.conversations.messages import ToolCall
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import ChildBegun, ChildFinished, Event, Paused, StartChild, Submitted
from skillfleet.conversations.schedule import Sight, observe
from skillfleet.events import changes
from skillfleet.tools.definitions import definition
from skillfleet.tools.own import SPAWNING
from skillfleet_workers.wire.connection import RedisUrls

CHILD, GRANDCHILD = "c1-1-0", "c1-1-0-1-0"
OWN = tuple(definition(own) for own in SPAWNING)


@pytest.fixture(params=["memory", "redis"])
def world(request: pytest.FixtureRequest) -> World:
    urls = request.getfixturevalue("redis_urls") if request.param == "redis" else RedisUrls("")
    return WORLDS[request.param](urls)


def spawn(call_id: str = "a", *, wait: bool = False) -> ToolCall:
    return call("spawn_subagent", call_id, prompt="Count the bees.", wait=wait)


def found(claim: Claim) -> list[Event]:
    return observe(claim.conversation, claim.records, Sight(claim.now, cancel=claim.cancel, pause=claim.pause))


def stepped(world: World, claim: Claim, *events: Event, due_in: float | None = None) -> Conversation:
    """As a driver does it, with the children that are to begin; without `due_in` it is still held, and its model is
    being asked."""
    start = after = claim.conversation
    effects = []
    for event in events:
        after, more = step(after, event, claim.now)
        effects += more
    due = None if due_in is None else claim.now + due_in
    assert world.ledger.commit(claim.fence, after, changes(start, after, effects), due)
    for effect in effects:
        if isinstance(effect, StartChild):
            world.ledger.submit(effect.spec)
    return after


def thinking(world: World, *calls: ToolCall) -> tuple[Claim, Conversation]:
    """The parent has begun children that it does not wait for, and its model is asked meanwhile."""
    spec = make_spec()
    world.ledger.submit(spec.model_copy(update={"tools": (*spec.tools, *OWN), "subagents": True}))
    claim = claimed(world)
    return claim, stepped(world, claim, Submitted(), asks(*(calls or (spawn(),))))


def family(world: World) -> None:
    """A parent, its child and that one's child, each waiting for the next; the deepest has not been taken."""
    thinking(world, spawn(wait=True))
    world.ledger.release("c1", 1)
    parent = claimed(world, "c1")
    commit_steps(world, parent, *found(parent), due_in=600)
    stepped(world, claimed(world, CHILD), Submitted(), asks(spawn(wait=True)), due_in=600)


def told_of_children(world: World) -> list[str]:
    return [entry.data["status"] for entry in world.ledger.entries("c1", "0", 0) if entry.type == "child"]


def status(world: World, name: str) -> str:
    kept = world.ledger.load(name)
    assert kept is not None
    return kept.status


def pauses(world: World) -> dict[str, bool]:
    """Of what is due: whether it is to be paused."""
    claims = {}
    while isinstance(claim := world.ledger.claim(), Claim):
        claims[claim.conversation.id] = claim.pause
    return claims


def test_a_child_that_ends_does_not_take_its_parent_from_a_model_that_thinks(world: World) -> None:
    parent, before = thinking(world)
    commit_steps(world, claimed(world, CHILD), Submitted(), says("seven"))
    assert isinstance(world.ledger.claim(), Nothing)
    after, effects = step(before, asks(call("await_subagents")), parent.now)
    assert world.ledger.commit(parent.fence, after, changes(before, after, effects), parent.now + 600)
    seen = claimed(world)
    assert found(seen) == [ChildFinished("1.0", "succeeded", "seven", ended="completed")]
    assert '"answer": "seven"' in (commit_steps(world, seen, *found(seen)).messages[-1].content or "")


def test_a_parent_rests_until_the_last_child_that_it_awaits_has_ended(world: World) -> None:
    parent, before = thinking(world, spawn("a"), spawn("b"))
    after, effects = step(before, asks(call("await_subagents", agent_ids=["c1-1-1"])), parent.now)
    assert world.ledger.commit(parent.fence, after, changes(before, after, effects), parent.now + 600)
    one, other = claimed(world, CHILD), claimed(world, "c1-1-1")
    commit_steps(world, one, Submitted(), says("seven"))
    assert isinstance(world.ledger.claim(), Nothing)
    commit_steps(world, other, Submitted(), says("eight"))
    seen = claimed(world)
    settled = commit_steps(world, seen, *found(seen))
    assert [child.status for child in settled.children] == ["completed", "completed"]


def test_what_is_kept_of_a_child_outlives_the_turns_of_its_parent(world: World) -> None:
    thinking(world)
    world.ledger.release("c1", 1)
    claim = claimed(world, "c1")
    assert found(claim) == [ChildBegun("1.0")]
    after = stepped(world, claim, *found(claim), asks(spawn("b")))
    world.ledger.release("c1", claim.fence)
    later = claimed(world, "c1").conversation
    assert [(child.id, child.begun) for child in later.children] == [(CHILD, True), ("c1-2-0", False)]
    assert later.children == after.children


def test_a_parent_that_answers_takes_its_children_along(world: World) -> None:
    parent, before = thinking(world)
    after, effects = step(before, says("Done."), parent.now)
    assert world.ledger.commit(parent.fence, after, changes(before, after, effects), parent.now + 600)
    child = claimed(world)
    assert (child.conversation.id, child.cancel) == (CHILD, True)
    commit_steps(world, child, *found(child))
    last = claimed(world, "c1")
    assert commit_steps(world, last, *found(last)).status == "completed"
    assert isinstance(world.ledger.claim(), Nothing)


def test_a_child_that_is_no_longer_wanted_is_ended_and_its_parent_goes_on(world: World) -> None:
    parent, before = thinking(world)
    after, effects = step(before, asks(call("cancel_subagent", agent_id=CHILD)), parent.now)
    assert world.ledger.commit(parent.fence, after, changes(before, after, effects), None)
    child = claimed(world)
    assert (child.conversation.id, child.cancel) == (CHILD, True)
    assert told_of_children(world) == ["queued"]
    commit_steps(world, child, *found(child))
    assert told_of_children(world) == ["queued", "cancelled"]
    assert status(world, "c1") == "running"


def test_what_a_child_has_used_that_was_told_to_end_counts_and_its_share_comes_back(world: World) -> None:
    parent, before = thinking(world, spawn("a"), spawn("b"))
    after, effects = step(before, asks(call("cancel_subagent", agent_id=CHILD), call("await_subagents")), parent.now)
    assert world.ledger.commit(parent.fence, after, changes(before, after, effects), parent.now + 600)
    child = claimed(world, CHILD)
    said = replace(says("Too late."), usage=Usage(output_tokens=7))
    commit_steps(world, child, Submitted(), said)
    world.ledger.release("c1", parent.fence)
    commit_steps(world, claimed(world, "c1-1-1"), Submitted(), says("eight"))
    seen = claimed(world, "c1")
    settled = commit_steps(world, seen, *found(seen))
    left = settled.children[0]
    assert (left.status, left.succeeded, left.given) == ("completed", False, None)
    assert settled.usage.output_tokens == after.usage.output_tokens + 7
    assert told_of_children(world) == ["queued", "queued", "completed", "completed"]


def test_to_cancel_one_is_to_cancel_all_below_it_at_once(world: World) -> None:
    family(world)
    world.ledger.cancel("c1")
    for name in (GRANDCHILD, CHILD, "c1"):
        claim = claimed(world, name)
        assert claim.cancel
        commit_steps(world, claim, *found(claim))
        assert status(world, name) == "cancelled"
    assert isinstance(world.ledger.claim(), Nothing)


def test_a_tree_pauses_and_goes_on_together(world: World) -> None:
    family(world)
    world.ledger.pause("c1")
    assert pauses(world) == {"c1": True, CHILD: True, GRANDCHILD: True}
    world.ledger.resume("c1")
    assert pauses(world) == {"c1": False, CHILD: False, GRANDCHILD: False}


def test_what_was_paused_by_itself_stays_so_with_all_below_it(world: World) -> None:
    family(world)
    world.ledger.pause(CHILD)
    world.ledger.pause("c1")
    pauses(world)
    world.ledger.resume("c1")
    assert pauses(world) == {"c1": False}
    world.ledger.resume(CHILD)
    assert pauses(world) == {CHILD: False, GRANDCHILD: False}


def test_what_a_person_pauses_while_its_parent_is_paused_does_not_go_on_with_it(world: World) -> None:
    family(world)
    world.ledger.pause("c1")
    world.ledger.pause(CHILD)
    pauses(world)
    world.ledger.resume("c1")
    assert pauses(world) == {"c1": False}


def test_a_child_that_is_accepted_while_its_parent_is_paused_waits_for_it(world: World) -> None:
    spec = make_spec()
    world.ledger.submit(spec.model_copy(update={"tools": (*spec.tools, *OWN)}))
    claim = claimed(world)
    after, effects = step(step(claim.conversation, Submitted(), claim.now)[0], asks(spawn(wait=True)), claim.now)
    told = changes(claim.conversation, after, effects)
    assert world.ledger.commit(claim.fence, after, told, claim.now + 600)
    world.ledger.pause("c1")
    (start,) = (effect for effect in effects if isinstance(effect, StartChild))
    world.ledger.submit(start.spec)
    child = claimed(world, CHILD)
    assert child.pause
    assert commit_steps(world, child, Paused(), due_in=3600).status == "paused"
    world.ledger.resume("c1")
    assert not claimed(world, CHILD).pause
