"""The bound on how many conversations of one tenant are held at once, whichever the ledger."""

import pytest
from tests.conformance.ledgers import MemoryWorld, RedisWorld, World, claimed, commit_steps
from tests.conversation_steps import make_spec, says

from skillfleet.conversations.ledger import LEASE_S, Nothing
from skillfleet.conversations.memory_ledger import MemoryLedger
from skillfleet.conversations.moves import Submitted
from skillfleet.conversations.redis_ledger import RedisLedger


@pytest.fixture(params=["memory", "redis"])
def world(request: pytest.FixtureRequest) -> World:
    """Two slots a tenant; ann has four conversations, and bob one that came last."""
    if request.param == "memory":
        memory = MemoryWorld()
        memory.ledger = MemoryLedger(memory.store, tenant_slots=2)
        here: World = memory
    else:
        urls = request.getfixturevalue("redis_urls")
        here = on_redis = RedisWorld(urls)
        on_redis.ledger = RedisLedger(urls, "test", tenant_slots=2)
    tenants = {"a1": "ann", "a2": "ann", "a3": "ann", "a4": "ann", "b1": "bob"}
    here.ledger.submit(*(make_spec(name).model_copy(update={"tenant": who}) for name, who in tenants.items()))
    return here


def test_a_tenant_at_its_bound_is_passed_over_and_keeps_its_turn(world: World) -> None:
    held = [claimed(world) for _ in range(3)]
    assert [claim.conversation.id for claim in held] == ["a1", "b1", "a2"]
    found = world.ledger.claim()
    assert isinstance(found, Nothing) and found.wait_s is not None and found.wait_s > 0
    commit_steps(world, held[0], Submitted(), says("42"))
    assert claimed(world).conversation.id == "a3"
    assert isinstance(world.ledger.claim(), Nothing)


def test_who_lets_go_rings_for_the_next(world: World) -> None:
    held = [claimed(world) for _ in range(3)]
    while world.bells():
        world.ledger.wait(0.01)
    commit_steps(world, held[0], Submitted(), says("42"))
    assert world.bells() == 1


def test_what_is_handed_back_is_held_no_more(world: World) -> None:
    held = [claimed(world) for _ in range(3)]
    world.ledger.release("a1", held[0].fence)
    assert claimed(world).conversation.id == "a1"


def test_the_slots_of_a_dead_orchestrator_are_free_when_its_leases_end(world: World) -> None:
    for _ in range(3):
        claimed(world)
    world.pass_time(LEASE_S)
    assert {claimed(world).conversation.id for _ in range(3)} == {"a1", "a2", "b1"}


def test_a_renewed_lease_keeps_its_slot(world: World) -> None:
    held = [claimed(world) for _ in range(3)]
    world.pass_time(LEASE_S - 1)
    assert all(world.ledger.renew(claim.conversation.id, claim.fence) for claim in held)
    world.pass_time(2)
    assert isinstance(world.ledger.claim(), Nothing)


def test_a_tenant_at_its_bound_is_cancelled_all_the_same(world: World) -> None:
    for _ in range(3):
        claimed(world)
    world.ledger.cancel("a4")
    claim = claimed(world)
    assert (claim.conversation.id, claim.cancel) == ("a4", True)
