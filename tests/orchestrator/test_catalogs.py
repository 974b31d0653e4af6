"""What orchestrators know of the skills that workers can run, and whom they send calls to."""

import base64
import json
from dataclasses import dataclass, field
from typing import cast

import pytest
from tests.conversation_steps import after as stepped
from tests.conversation_steps import asks, awaiting_model, run_python

from skillfleet.calls import CeleryCalls
from skillfleet.catalogs import FRESH_S, Catalogs
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import ToolFinished
from skillfleet.conversations.runs import ToolRun
from skillfleet.conversations.schedule import Rooms
from skillfleet_workers.wire.blobs import Blobs
from skillfleet_workers.wire.celery import make_celery
from skillfleet_workers.wire.connection import FleetSettings, RedisUrls
from skillfleet_workers.wire.contract import CallMessage, UsedSkill
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

    def sent(self, conversation: Conversation, run: ToolRun) -> CallMessage:
        """As a worker gets it."""
        self.calls().send(conversation, run)
        task = cast(str, self.urls.client(broker=True).rpop("skills.default"))
        (message,), _, _ = json.loads(base64.b64decode(json.loads(task)["body"]))
        return CallMessage.model_validate(message)


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


def test_who_keeps_to_another_state_is_sent_where_that_one_was_as_long_as_somebody_is_there(fleet: Fleet) -> None:
    fleet.join(CALC)
    kept = fleet.catalogs().current()
    assert kept is not None
    fleet.living.clear()
    fleet.join(CALC.model_copy(update={"digest": "d2", "route": "office"}))
    assert fleet.calls().route(*calling()) == "office"
    assert fleet.calls().route(*calling(kept.id)) == "office"
    assert fleet.calls().route(*calling(kept.id, "gpu")) == "office"
    fleet.join(routes=("gpu",))
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


def again(conversation: Conversation, digest: str, worker_route: str = "") -> tuple[Conversation, ToolRun]:
    """The skill was used in that state, and is called once more."""
    runs = tuple(run.model_copy(update={"route": worker_route}) for run in conversation.runs)
    used = UsedSkill(name=CALC.name, version=CALC.version, digest=digest)
    done = ToolFinished(conversation.out[0].key, "succeeded", "42", "w0", used=used)
    then = stepped(conversation.model_copy(update={"runs": runs}), done, asks(run_python()))
    return then, then.out[0]


def test_a_skill_that_came_after_the_conversation_began_is_kept_to_as_it_was_used_first(fleet: Fleet) -> None:
    fleet.join(CALC.model_copy(update={"name": "pdf"}))
    kept = fleet.catalogs().current()
    assert kept is not None
    fleet.join(CALC)
    first, run = calling(kept.id)
    assert fleet.sent(first, run).digest == ""
    second, run = again(first, "d1")
    assert fleet.sent(second, run).digest == "d1"
    third, run = again(second, "d2")
    assert fleet.sent(third, run).digest == "d1"


def test_of_a_skill_that_came_later_and_has_changed_the_calls_go_where_they_went(fleet: Fleet) -> None:
    fleet.join(CALC.model_copy(update={"name": "pdf"}))
    kept = fleet.catalogs().current()
    assert kept is not None
    fleet.join(CALC.model_copy(update={"digest": "d2", "route": "office"}), routes=("gpu",))
    first, run = calling(kept.id)
    assert fleet.calls().route(first, run) == "office"
    assert fleet.calls().route(*again(first, "d1", "gpu")) == "gpu"
    assert fleet.calls().route(*again(first, "d2", "gpu")) == "office"


def test_a_state_that_its_snapshot_knows_is_kept_to_before_what_was_used(fleet: Fleet) -> None:
    fleet.join(CALC)
    kept = fleet.catalogs().current()
    assert kept is not None
    first, _ = calling(kept.id)
    assert fleet.sent(*again(first, "d0")).digest == "d1"
