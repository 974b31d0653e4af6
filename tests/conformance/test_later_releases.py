"""Conversations that a later release has stored, seen by this one: the same on either ledger."""

import pytest
from tests.conformance.ledgers import WORLDS, World, claimed, submitted

from skillfleet.conversations.ledger import LEASE_S, LEFT_ALONE_S, Nothing
from skillfleet_workers.wire.connection import RedisUrls


@pytest.fixture(params=["memory", "redis"])
def world(request: pytest.FixtureRequest) -> World:
    urls = request.getfixturevalue("redis_urls") if request.param == "redis" else RedisUrls("")
    return WORLDS[request.param](urls)


def test_it_is_left_to_those_who_know_it_and_holds_up_nobody(world: World) -> None:
    submitted(world, "newer")
    world.pass_time(1)
    submitted(world, "ours")
    world.write_as_later_release("newer")

    assert world.ledger.claim() == Nothing(0.0)
    assert claimed(world).conversation.id == "ours"
    left = world.ledger.claim()
    assert isinstance(left, Nothing) and left.wait_s is not None
    assert 0 < left.wait_s <= LEFT_ALONE_S


def test_it_is_left_as_it_was_and_soon_due_for_them(world: World) -> None:
    submitted(world)
    fence = claimed(world).fence
    world.pass_time(LEASE_S)
    world.write_as_later_release("c1")
    for _ in range(3):
        assert world.ledger.claim("c1") == Nothing(0.0)
        world.pass_time(LEFT_ALONE_S)
    # Whoever holds it commits all the same.
    assert world.ledger.renew("c1", fence)
