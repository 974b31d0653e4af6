"""How tenants share a fleet, and what comes first of a tenant's own, whichever the ledger."""

from itertools import pairwise
from typing import Any

import pytest
from tests.conformance.ledgers import DONE, WORLDS, World, claimed, commit_steps
from tests.conversation_steps import asks, list_skills, make_spec, says

from skillfleet.conversations.ledger import LEASE_S, Nothing, Written
from skillfleet.conversations.models import ConversationSpec
from skillfleet.conversations.moves import Submitted, ToolUnstarted
from skillfleet.conversations.runs import ToolRun
from skillfleet.conversations.schedule import LEAST_ROOM, OVERTAKEN_S, RESEND_AFTER_S, Rooms
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.contract import CallRef

BATCH = 10_000


@pytest.fixture(params=["memory", "redis"])
def world(request: pytest.FixtureRequest) -> World:
    urls = request.getfixturevalue("redis_urls") if request.param == "redis" else RedisUrls("")
    return WORLDS[request.param](urls)


def spec(name: str, tenant: str = "default", **more: Any) -> ConversationSpec:
    return make_spec(name).model_copy(update={"tenant": tenant, **more})


def batch(tenant: str, count: int) -> list[ConversationSpec]:
    """`make_spec` makes all the tools anew, which takes longer than to submit them."""
    one = spec("", tenant)
    return [one.model_copy(update={"id": f"{tenant}{number:05}"}) for number in range(count)]


def taken(world: World, count: int) -> list[str]:
    return [claimed(world).conversation.id for _ in range(count)]


def call(world: World, name: str, tenant: str = "default", **more: Any) -> None:
    """It is submitted, claimed, and has a call to be sent."""
    world.ledger.submit(spec(name, tenant, **more))
    commit_steps(world, claimed(world, name), Submitted(), asks(list_skills()), due_in=60)


def released(world: World, room: int = LEAST_ROOM) -> list[str]:
    return list(world.ledger.release_calls(Rooms(room)))


def start(world: World, name: str) -> str:
    return world.calls.claim(CallRef(conversation_id=name, turn=1, index=0), "w1")


def test_one_who_asks_one_thing_does_not_wait_for_a_batch(world: World) -> None:
    world.ledger.submit(*batch("batch", BATCH))
    taken(world, 3)
    world.ledger.submit(spec("mine", "person"))
    assert "mine" in taken(world, 2)


def test_tenants_take_turns_however_much_each_of_them_wants(world: World) -> None:
    world.ledger.submit(*batch("ann", 9), *batch("bob", 3), *batch("cy", 3))
    turns = [name[:-5] for name in taken(world, 9)]
    for tenant in ("ann", "bob", "cy"):
        served = [place for place, name in enumerate(turns) if name == tenant]
        assert [later - earlier for earlier, later in pairwise(served)] == [3, 3]
    assert [name[:-5] for name in taken(world, 6)] == ["ann"] * 6


def test_one_who_comes_again_and_again_has_no_more_turns_than_others(world: World) -> None:
    world.ledger.submit(*batch("ann", 10))
    order = []
    for number in range(5):
        world.ledger.submit(spec(f"bob{number}", "bob"))
        order += taken(world, 2)
    assert [name[:3] for name in order] == ["ann", "bob"] * 5


def test_of_a_tenants_own_priority_comes_first_then_what_has_begun_then_who_came_first(world: World) -> None:
    world.ledger.submit(spec("begun"))
    held = claimed(world)
    for name, priority in (("later", 10), ("first", 5), ("second", 5), ("urgent", 1)):
        world.pass_time(1)
        world.ledger.submit(spec(name, priority=priority))
    world.ledger.release("begun", held.fence)
    assert taken(world, 5) == ["urgent", "begun", "first", "second", "later"]


def test_priority_counts_among_a_tenants_own_alone(world: World) -> None:
    world.ledger.submit(*batch("ann", 3))
    world.ledger.submit(spec("bob", "bob", priority=10))
    assert "bob" in taken(world, 2)


def test_who_cancels_a_thousand_holds_up_nobody_by_more_than_one(world: World) -> None:
    world.ledger.submit(*batch("ann", 50), *batch("bob", 2), *batch("eve", 1))
    for number in range(50):
        world.ledger.cancel(f"ann{number:05}")
    others = [name for name in taken(world, 7) if not name.startswith("ann")]
    assert others == ["bob00000", "eve00000", "bob00001"]


def test_what_a_dead_orchestrator_held_comes_before_what_has_not_begun(world: World) -> None:
    world.ledger.submit(spec("held"))
    claimed(world)
    world.ledger.submit(*batch("default", 5))
    world.pass_time(LEASE_S)
    assert taken(world, 1) == ["held"]


def test_what_only_has_to_be_ended_comes_first_and_costs_nobody_a_turn(world: World) -> None:
    world.ledger.submit(*batch("ann", 3), *batch("bob", 3))
    world.ledger.cancel("ann00002")
    world.ledger.cancel("bob00002")
    assert taken(world, 6) == ["ann00002", "ann00000", "bob00002", "bob00000", "ann00001", "bob00001"]
    assert isinstance(world.ledger.claim(), Nothing)


def test_a_second_ring_does_not_cost_a_conversation_its_place(world: World) -> None:
    world.ledger.submit(spec("first"))
    world.pass_time(1)
    world.ledger.submit(spec("second"))
    world.pass_time(1)
    world.ledger.pause("first")
    world.ledger.resume("first")
    assert taken(world, 2) == ["first", "second"]


def test_few_calls_are_released_and_the_next_when_one_has_started(world: World) -> None:
    names = [f"c{number}" for number in range(LEAST_ROOM + 2)]
    for name in names:
        call(world, name)
    while world.bells():
        world.ledger.wait(0.01)
    assert released(world) == []
    assert start(world, names[0]) == "claimed"
    assert world.bells() == 1
    assert released(world) == [f"{names[LEAST_ROOM]}.1.0"]
    assert released(world, LEAST_ROOM + 1) == [f"{names[LEAST_ROOM + 1]}.1.0"]


def test_calls_that_wait_are_released_in_turn_and_by_priority(world: World) -> None:
    for number in range(LEAST_ROOM):
        call(world, f"c{number}", "ann")
    for name, tenant, priority in (("a1", "ann", 5), ("a2", "ann", 1), ("b1", "bob", 10)):
        call(world, name, tenant, priority=priority)
    assert released(world, LEAST_ROOM + 3) == ["a2.1.0", "b1.1.0", "a1.1.0"]


def test_whoever_claims_or_commits_is_told_what_was_released(world: World) -> None:
    for number in range(LEAST_ROOM + 2):
        call(world, f"c{number}")
    start(world, "c0")
    found = world.ledger.claim()
    assert isinstance(found, Nothing)
    assert found.released == (f"c{LEAST_ROOM}.1.0",)
    start(world, "c1")
    world.ledger.submit(spec("other"))
    other = claimed(world)
    assert other.released == (f"c{LEAST_ROOM + 1}.1.0",)
    start(world, "c2")
    written = world.ledger.commit(other.fence, other.conversation, [], other.now + 60)
    assert written == Written(())
    ((conversation, run),) = world.ledger.calls([f"c{LEAST_ROOM}.1.0", "nobody.1.0"])
    assert (conversation.id, run.name, run.status) == (f"c{LEAST_ROOM}", "list_skills", None)


@pytest.mark.parametrize("how", ["cancel", "pause"])
def test_what_has_ended_or_is_paused_gives_its_places_up(world: World, how: str) -> None:
    for number in range(LEAST_ROOM + 2):
        call(world, f"c{number}")
    for given_up, next_one in (("c0", f"c{LEAST_ROOM}"), (f"c{LEAST_ROOM}", f"c{LEAST_ROOM + 1}")):
        getattr(world.ledger, how)(given_up)
        claim = claimed(world)
        ended = tuple(run.model_copy(update={"status": "cancelled"}) for run in claim.conversation.runs)
        update = {"status": "cancelled", "runs": ended} if how == "cancel" else {"status": "paused"}
        written = world.ledger.commit(claim.fence, claim.conversation.model_copy(update=update), [], claim.now + 60)
        assert written == Written((f"{next_one}.1.0",))


def test_a_lost_message_is_sent_again_in_the_place_that_it_had(world: World) -> None:
    for number in range(LEAST_ROOM + 1):
        call(world, f"c{number}")
    world.pass_time(RESEND_AFTER_S)
    claim = claimed(world, "c0")
    assert claim.records["1.0"].sent_at > 0
    after = commit_steps(world, claim, ToolUnstarted("1.0"), due_in=60)
    assert after.out[0].sends == 2
    assert released(world) == []
    assert start(world, "c0") == "claimed"
    assert released(world) == [f"c{LEAST_ROOM}.1.0"]


def test_a_call_that_is_released_later_is_looked_at_as_soon_as_its_message_could_be_lost(world: World) -> None:
    for number in range(LEAST_ROOM + 1):
        call(world, f"c{number}")
    late = f"c{LEAST_ROOM}"
    assert isinstance(world.ledger.claim(late), Nothing)
    world.pass_time(5)
    start(world, "c0")
    assert released(world) == [f"{late}.1.0"]
    world.pass_time(RESEND_AFTER_S)
    claim = claimed(world, late)
    assert claim.now - claim.records["1.0"].sent_at >= RESEND_AFTER_S


def test_a_call_that_later_ones_have_overtaken_can_be_told(world: World) -> None:
    call(world, "lost")
    world.pass_time(OVERTAKEN_S + 1)
    call(world, "later")
    call(world, "latest")
    start(world, "later")
    claim = claimed(world, "lost")
    assert claim.records["1.0"].sent_at + OVERTAKEN_S < claim.overtaken_at[""]


def test_a_call_that_stands_nowhere_is_found_at_the_next_look(world: World) -> None:
    """As one that an orchestrator of an earlier release has sent."""
    world.ledger.submit(spec("old"))
    claim = claimed(world)
    commit_steps(world, claim, Submitted(), due_in=None)
    stored = world.ledger.load("old")
    assert stored is not None
    run = ToolRun(ref=CallRef(conversation_id="old", turn=0, index=0), tool_call_id="a", name="list_skills", sends=1)
    world.ledger.commit(claim.fence, stored.model_copy(update={"runs": (run,)}), [], claim.now)
    assert claimed(world).released == ("old.0.0",)


def test_no_place_is_left_behind(world: World) -> None:
    for number in range(2 * LEAST_ROOM):
        name = f"c{number}"
        call(world, name)
        assert start(world, name) == "claimed"
        world.calls.commit(CallRef(conversation_id=name, turn=1, index=0), DONE)
        claim = claimed(world)
        done = claim.conversation.out[0].model_copy(update={"status": "succeeded", "worker": "w1"})
        stored = claim.conversation.model_copy(update={"runs": (done,)})
        commit_steps(world, claim, says("42"), before=stored)
    for number in range(LEAST_ROOM):
        call(world, f"next{number}")
    assert released(world, 10 * LEAST_ROOM) == []
