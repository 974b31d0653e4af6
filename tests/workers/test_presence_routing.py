"""A worker learns from the others what is for it, and passes on what is not."""

import pytest

from skillfleet_workers.routing import Routing
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.contract import CallMessage, CallRef
from skillfleet_workers.wire.presence import LiveProcess
from skillfleet_workers.wire.published import PublishedSkill, Snapshot, own_route
from skillfleet_workers.wire.snapshots import Snapshots

LAB = PublishedSkill(name="lab", version="1.0.0", digest="d1", description="")
BROKEN = LAB.model_copy(update={"eligible": False, "reason": "no ffmpeg"})
ABLE, UNABLE = Snapshot(skills=(LAB,)), Snapshot(skills=(BROKEN,))


class Fleet:
    """Other workers, and one whose routing is looked at."""

    def __init__(self, urls: RedisUrls) -> None:
        self.snapshots = Snapshots(urls.client(), 60)
        self.others: list[LiveProcess] = []

    def join(self, told: Snapshot) -> None:
        name = self.snapshots.write(told)
        self.others.append(LiveProcess(role="worker", name=f"w{len(self.others)}", pid=1, since=0.0, snapshot=name))

    def routing(self, own: Snapshot) -> Routing:
        routing = Routing(self.snapshots, lambda: own, lambda: self.others)
        routing.look()
        return routing


@pytest.fixture
def fleet(redis_urls: RedisUrls) -> Fleet:
    return Fleet(redis_urls)


def call(digest: str = "", **request: str) -> CallMessage:
    ref = CallRef(conversation_id="c1", turn=1, index=0)
    return CallMessage(ref=ref, request=request or {"skill_name": "lab"}, digest=digest)


def test_a_worker_alone_takes_what_it_can_run_without_a_route(fleet: Fleet) -> None:
    alone = fleet.routing(ABLE)
    assert alone.routes == ()
    assert alone.elsewhere(call()) is None


def test_once_another_joins_that_cannot_run_it_the_able_one_takes_a_route_and_the_other_passes_calls_on(
    fleet: Fleet,
) -> None:
    able = fleet.routing(ABLE)
    fleet.join(UNABLE)
    able.look()
    assert able.routes == (own_route(LAB),)
    assert able.elsewhere(call()) is None

    fleet.join(ABLE)
    unable = fleet.routing(UNABLE)
    assert unable.routes == ()
    assert unable.elsewhere(call()) == own_route(LAB)
    assert unable.elsewhere(call(offset="1")) is None


def test_what_nobody_can_run_is_passed_on_to_nobody(fleet: Fleet) -> None:
    fleet.join(UNABLE)
    assert fleet.routing(UNABLE).elsewhere(call()) is None


def test_a_call_that_keeps_to_a_state_is_passed_to_those_who_have_it(fleet: Fleet) -> None:
    newer = Snapshot(skills=(LAB.model_copy(update={"digest": "d2"}),))
    fleet.join(ABLE)
    fleet.join(ABLE)
    changed = fleet.routing(newer)
    assert changed.elsewhere(call("d1")) == own_route(LAB)
    assert changed.elsewhere(call("d2")) is None
    assert changed.elsewhere(call("d0")) is None


def test_who_follows_the_routes_is_told_at_every_look(fleet: Fleet) -> None:
    routing, told = fleet.routing(ABLE), []
    routing.follow = lambda: told.append(routing.routes)
    routing.look()
    fleet.join(UNABLE)
    routing.look()
    fleet.others.clear()
    routing.look()
    assert told == [(), (own_route(LAB),), ()]


def test_a_snapshot_that_cannot_be_read_yet_counts_from_when_it_can(fleet: Fleet) -> None:
    fleet.others.append(LiveProcess(role="worker", name="w", pid=1, since=0.0, snapshot=UNABLE.id))
    routing = fleet.routing(ABLE)
    before = routing.routes
    fleet.snapshots.write(UNABLE)
    routing.look()
    assert (before, routing.routes) == ((), (own_route(LAB),))
