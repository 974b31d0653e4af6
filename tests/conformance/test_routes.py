"""Calls that only some workers can run: a queue for each route, with places and turns of its own, whichever the
ledger."""

import pytest
from tests.conformance.ledgers import DONE, WORLDS, RedisWorld, World, claimed
from tests.conversation_steps import asks, list_skills, make_spec, run_python

from skillfleet.conversations.engine import step
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import Effect, Event, RunTool, Submitted, ToolUnstarted
from skillfleet.conversations.runs import ToolRun
from skillfleet.conversations.schedule import LEAST_ROOM, OVERTAKEN_S, Rooms
from skillfleet_workers.wire import keys
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.contract import CallRef

GPU = Rooms(LEAST_ROOM, {"gpu": 2})
NOBODY = Rooms(LEAST_ROOM, {})


@pytest.fixture(params=["memory", "redis"])
def world(request: pytest.FixtureRequest) -> World:
    urls = request.getfixturevalue("redis_urls") if request.param == "redis" else RedisUrls("")
    return WORLDS[request.param](urls)


def routed(conversation: Conversation, effects: list[Effect], route: str) -> tuple[Conversation, list[ToolRun]]:
    """All calls that are to be sent have this route."""
    sends = [one.run.model_copy(update={"route": route}) for one in effects if isinstance(one, RunTool)]
    runs = tuple(next((sent for sent in sends if sent.key == run.key), run) for run in conversation.runs)
    return conversation.model_copy(update={"runs": runs}), sends


def moved(world: World, name: str, *events: Event, route: str, rooms: Rooms) -> tuple[str, ...]:
    """The conversation makes these steps, and its calls are sent by the route; those that have a place."""
    claim = claimed(world, name)
    after, effects = claim.conversation, list[Effect]()
    for event in events:
        after, more = step(after, event, claim.now)
        effects += more
    after, sends = routed(after, effects, route)
    written = world.ledger.commit(claim.fence, after, [], claim.now + 60, sends, rooms)
    assert written is not None
    return written.released


def call(
    world: World, name: str, route: str = "gpu", *, tenant: str = "default", rooms: Rooms = GPU
) -> tuple[str, ...]:
    world.ledger.submit(make_spec(name).model_copy(update={"tenant": tenant}))
    return moved(world, name, Submitted(), asks(run_python() if route else list_skills()), route=route, rooms=rooms)


def start(world: World, name: str) -> str:
    return world.calls.claim(CallRef(conversation_id=name, turn=1, index=0), "w1")


def test_each_route_has_places_of_its_own(world: World) -> None:
    assert [bool(call(world, f"g{number}")) for number in range(3)] == [True, True, False]
    assert [bool(call(world, f"c{number}", "")) for number in range(LEAST_ROOM + 1)] == [True] * LEAST_ROOM + [False]


def test_on_a_route_that_nobody_serves_calls_wait_and_are_sent_when_somebody_does(world: World) -> None:
    assert call(world, "g0", rooms=NOBODY) == ()
    assert call(world, "g1", rooms=NOBODY) == ()
    assert world.ledger.release_calls(NOBODY) == ()
    assert world.ledger.release_calls(Rooms(LEAST_ROOM, {"g": 9, "gpu-2": 9})) == ()
    assert world.ledger.release_calls(Rooms(LEAST_ROOM, {"gpu": 1})) == ("g0.1.0",)
    assert start(world, "g0") == "claimed"
    assert world.ledger.release_calls(GPU) == ("g1.1.0",)


def test_a_stored_call_has_its_route_and_so_has_its_record(world: World) -> None:
    call(world, "g0", rooms=NOBODY)
    ((_, run),) = world.ledger.calls(["g0.1.0"])
    assert run.route == "gpu"
    world.pass_time(60)
    assert claimed(world, "g0").records["1.0"].route == "gpu"


def test_tenants_take_turns_on_a_route_too(world: World) -> None:
    for name, tenant in (("a0", "ann"), ("a1", "ann"), ("a2", "ann"), ("b0", "bob")):
        call(world, name, tenant=tenant, rooms=NOBODY)
    assert world.ledger.release_calls(Rooms(0, {"gpu": 3})) == ("a0.1.0", "b0.1.0", "a1.1.0")


def test_a_start_frees_the_place_on_its_route_and_rings_for_who_waits_there(world: World) -> None:
    for number in range(3):
        call(world, f"g{number}")
    while world.bells():
        world.ledger.wait(0.01)
    start(world, "g0")
    assert world.bells() == 1
    assert world.ledger.release_calls(GPU) == ("g2.1.0",)


def test_a_call_is_overtaken_by_those_of_its_own_route_alone(world: World) -> None:
    call(world, "lost", rooms=Rooms(LEAST_ROOM, {"gpu": 3}))
    call(world, "other", "")
    call(world, "another", "")
    world.pass_time(OVERTAKEN_S + 1)
    call(world, "later", rooms=Rooms(LEAST_ROOM, {"gpu": 3}))
    start(world, "later")
    world.pass_time(60)
    assert claimed(world, "other").overtaken_at == {"": 0.0}
    found = claimed(world, "lost")
    assert set(found.overtaken_at) == {"gpu"}
    assert found.records["1.0"].sent_at + OVERTAKEN_S < found.overtaken_at["gpu"]


@pytest.mark.parametrize("how", ["cancel", "pause"])
def test_what_has_ended_or_is_paused_leaves_its_route(world: World, how: str) -> None:
    for number in range(4):
        call(world, f"g{number}")
    for name, next_one in (("g0", "g2"), ("g2", "g3")):
        getattr(world.ledger, how)(name)
        claim = claimed(world, name)
        ended = tuple(run.model_copy(update={"status": "cancelled"}) for run in claim.conversation.runs)
        update = {"status": "cancelled", "runs": ended} if how == "cancel" else {"status": "paused"}
        after = claim.conversation.model_copy(update=update)
        written = world.ledger.commit(claim.fence, after, [], claim.now + 60, rooms=GPU)
        assert written is not None
        assert written.released == (f"{next_one}.1.0",)


@pytest.mark.parametrize("had_place", [True, False])
def test_a_call_that_is_sent_again_by_another_route_stands_in_that_one_alone(world: World, had_place: bool) -> None:
    call(world, "g0", rooms=GPU if had_place else NOBODY)
    world.pass_time(60)
    assert moved(world, "g0", ToolUnstarted("1.0"), route="", rooms=NOBODY) == ("g0.1.0",)
    assert [bool(call(world, f"g{number}")) for number in (1, 2)] == [True, True]
    world.pass_time(60)
    record = claimed(world, "g0").records["1.0"]
    assert (record.route, record.sent_at > 0) == ("", True)


def test_a_call_whose_route_is_kept_keeps_its_place(world: World) -> None:
    for number in range(3):
        call(world, f"g{number}")
    world.pass_time(60)
    assert moved(world, "g0", ToolUnstarted("1.0"), route="gpu", rooms=GPU) == ("g0.1.0",)
    assert world.ledger.release_calls(GPU) == ()


def test_the_last_result_on_a_route_leaves_no_place_behind(world: World) -> None:
    for number in range(3):
        call(world, f"g{number}")
        start(world, f"g{number}")
        world.ledger.release_calls(GPU)
        world.calls.commit(CallRef(conversation_id=f"g{number}", turn=1, index=0), DONE)
    assert [bool(call(world, f"n{number}")) for number in range(3)] == [True, True, False]


def test_nothing_is_left_in_redis_of_a_route_that_nobody_waits_for(redis_urls: RedisUrls) -> None:
    world = RedisWorld(redis_urls)
    base = keys.QueueKeys(keys.task_queue("test"))
    for name, tenant in (("g0", "ann"), ("g1", "bob"), ("g2", "ann")):
        call(world, name, tenant=tenant, rooms=NOBODY)
    assert world.client.smembers(base.routes) == {"gpu"}
    assert world.ledger.release_calls(GPU) == ("g0.1.0", "g1.1.0")
    world.ledger.cancel("g2")
    for name in ("g0", "g1"):
        start(world, name)
    claim = claimed(world, "g2")
    ended = tuple(run.model_copy(update={"status": "cancelled"}) for run in claim.conversation.runs)
    after = claim.conversation.model_copy(update={"status": "cancelled", "runs": ended})
    assert world.ledger.commit(claim.fence, after, [], None, rooms=NOBODY)
    left = set(world.client.scan_iter(f"{base.base}*"))
    assert left <= {keys.QueueKeys(keys.route_queue("skills.test", "gpu")).mark}


def test_a_call_without_a_route_asks_redis_for_nothing_of_routes(redis_urls: RedisUrls) -> None:
    world = RedisWorld(redis_urls)

    def asked() -> int:
        found = world.client.info("commandstats")
        return sum(found.get(f"cmdstat_{name}", {"calls": 0})["calls"] for name in ("smembers", "sadd", "srem"))

    before = asked()
    for number in range(LEAST_ROOM + 1):
        call(world, f"c{number}", "", rooms=NOBODY)
    start(world, "c0")
    assert world.ledger.release_calls(NOBODY) == (f"c{LEAST_ROOM}.1.0",)
    assert asked() == before
    fields = {*world.client.hkeys(keys.calls("c0")), *world.client.hkeys(keys.state("c0"))}
    assert not {"1.0:route", "routed"} & fields
