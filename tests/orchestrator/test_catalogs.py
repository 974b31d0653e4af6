"""What orchestrators know of the skills that workers can run, and whom they send calls to."""

from dataclasses import dataclass, field

import pytest
from tests.conversation_steps import after as stepped
from tests.conversation_steps import asks, awaiting_model, run_python

from skillfleet.calls import CeleryCalls
from skillfleet.catalogs import FRESH_S, Catalogs
from skillfleet.conversations.models import Conversation, ToolRun
from skillfleet.conversations.schedule import Rooms
from skillfleet_workers.wire.blobs import Blobs
from skillfleet_workers.wire.celery import make_celery
from skillfleet_workers.wire.connection import FleetSettings, RedisUrls
from skillfleet_workers.wire.presence import LiveProcess
from skillfleet_workers.wire.published import PublishedSkill, Snapshot
from skillfleet_workers.wire.snapshots import Snapshots

CALC = PublishedSkill(name="calculator", version="1.0.0", digest="d1", description="", route="gpu")
GONE = CALC.model_copy(update={"eligible": False, "reason": "no queue 'gpu'"})
TTL_S = 60


@dataclass
class Fleet:
    """Who lives is what a test says; a second `Catalogs` sees it anew."""

    urls: RedisUrls
    living: list[LiveProcess] = field(default_factory=list)

    def join(self, *skills: PublishedSkill, slots: int = 2, routes: tuple[str, ...] = ()) -> None:
        told = Snapshots(self.urls.client(), TTL_S).write(Snapshot(skills=skills))
        name = f"w{len(self.living)}"
        self.living.append(
            LiveProcess(role="worker", name=name, pid=1, since=0.0, slots=slots, snapshot=told, routes=routes)
        )

    def catalogs(self) -> Catalogs:
        return Catalogs(self.urls.client(), TTL_S, lambda: self.living)

    def calls(self) -> CeleryCalls:
        settings = FleetSettings(redis_url=self.urls.url)
        client = self.urls.client()
        return CeleryCalls(
            make_celery(settings, sends_only=True), self.urls.client(broker=True), "skills.default",
            Blobs(client, TTL_S), lambda: self.living, self.catalogs(),
        )  # fmt: skip


@pytest.fixture
def fleet(redis_urls: RedisUrls) -> Fleet:
    return Fleet(redis_urls)


def calling(snapshot: str = "", route: str = "") -> tuple[Conversation, ToolRun]:
    conversation = stepped(awaiting_model(), asks(run_python())).model_copy(update={"snapshot": snapshot})
    return conversation, conversation.out[0].model_copy(update={"route": route})


def test_without_a_worker_there_is_none(fleet: Fleet) -> None:
    assert fleet.catalogs().current() is None


def test_a_worker_of_a_release_that_tells_nothing_counts_for_nothing(fleet: Fleet) -> None:
    fleet.living.append(LiveProcess(role="worker", name="old", pid=1, since=0.0))
    assert fleet.catalogs().current() is None
    fleet.join(CALC)
    assert fleet.catalogs().current() == Snapshot(skills=(CALC,))


def test_what_is_current_can_be_read_by_its_id_when_its_workers_are_gone(fleet: Fleet) -> None:
    fleet.join(CALC)
    fleet.join(CALC.model_copy(update={"name": "pdf"}))
    current = fleet.catalogs().current()
    assert current is not None
    assert [one.name for one in current.skills] == ["calculator", "pdf"]
    fleet.living.clear()
    assert fleet.catalogs().read(current.id) == current
    assert fleet.catalogs().read("0" * 32) is None


def test_it_is_looked_at_anew_after_a_second(fleet: Fleet) -> None:
    now = 0.0
    catalogs = Catalogs(fleet.urls.client(), TTL_S, lambda: fleet.living, lambda: now)
    assert catalogs.current() is None
    fleet.join(CALC)
    assert catalogs.current() is None
    now += FRESH_S
    assert catalogs.current() == Snapshot(skills=(CALC,))
    fleet.living.clear()
    now += FRESH_S
    assert catalogs.current() is None


def test_a_call_goes_to_those_who_can_run_its_skill_now(fleet: Fleet) -> None:
    fleet.join(CALC)
    fleet.join(GONE)
    assert fleet.calls().route(*calling()) == "gpu"


def test_a_call_of_a_skill_that_nobody_can_run_goes_to_anybody_who_says_so_unless_it_waits_already(
    fleet: Fleet,
) -> None:
    fleet.join(GONE)
    assert fleet.calls().route(*calling()) == ""
    assert fleet.calls().route(*calling(route="gpu")) == "gpu"
    assert fleet.calls().why_not(*calling()) == "no queue 'gpu'"


def test_who_keeps_to_another_state_is_sent_where_that_one_was(fleet: Fleet) -> None:
    fleet.join(CALC)
    kept = fleet.catalogs().current()
    assert kept is not None
    fleet.living.clear()
    fleet.join(CALC.model_copy(update={"digest": "d2", "route": "office"}))
    assert fleet.calls().route(*calling()) == "office"
    assert fleet.calls().route(*calling(kept.id)) == "gpu"
    fleet.living.clear()
    fleet.join(CALC.model_copy(update={"route": "office"}))
    assert fleet.calls().route(*calling(kept.id)) == "office"


def test_there_is_room_on_a_route_as_its_workers_have_slots(fleet: Fleet) -> None:
    fleet.join(CALC, slots=10, routes=("gpu", "office"))
    fleet.join(CALC, slots=20, routes=("gpu",))
    assert fleet.calls().rooms(10.0) == Rooms(60, {"gpu": 60, "office": 20})
    fleet.living.clear()
    assert fleet.calls().rooms(10.0).of("gpu") == 0


def test_a_call_is_sent_to_the_queue_of_its_route_with_the_state_that_is_kept_to(fleet: Fleet) -> None:
    fleet.join(CALC)
    kept = fleet.catalogs().current()
    assert kept is not None
    calls = fleet.calls()
    assert calls.queue_empty("gpu")
    calls.send(*calling(kept.id, "gpu"))
    assert (calls.queue_empty("gpu"), calls.queue_empty("")) == (False, True)
    broker = fleet.urls.client(broker=True)
    assert list(broker.scan_iter()) == ["skills.default.gpu"]
