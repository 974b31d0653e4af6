"""A call that only some workers can run, when none of them is there: it waits, moves on, or is given up in words."""

import json
from dataclasses import dataclass, field, replace

import pytest
from tests.conversation_steps import NOW, awaiting_calls, list_skills, run_python

from skillfleet.conversations.ledger import Claim
from skillfleet.conversations.memory_ledger import MemoryLedger, MemoryStore
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import CallModel, Event, RunTool, ToolFinished, ToolUnstarted
from skillfleet.conversations.runs import ToolRun
from skillfleet.conversations.schedule import (
    PLACED_LOOK_S,
    QUEUE_TIMEOUT_S,
    SOONEST_LOOK_S,
    WAITING_LOOK_S,
    Rooms,
    Sight,
    Unserved,
    next_due,
    observe,
)
from skillfleet.conversations.sending import Sending
from skillfleet_workers.wire.calls import CallRecord, CallResult

WAITING = {"1.0": CallRecord(0, 0.0, "", None, route="gpu")}
PLACED = {"1.0": replace(WAITING["1.0"], sent_at=NOW)}
GONE = Unserved(NOW - 500, "no queue 'gpu'.")


def calling(route: str = "gpu") -> Conversation:
    conversation = awaiting_calls(run_python(), timeout_s=86400)
    runs = tuple(run.model_copy(update={"route": route, "sent_at": NOW}) for run in conversation.runs)
    return conversation.model_copy(update={"runs": runs})


def sight(later_s: float, unserved: Unserved | None = GONE) -> Sight:
    return Sight(NOW + later_s, unserved={"1.0": unserved} if unserved else {}, empty_queues={"gpu"})


def seen(later_s: float, unserved: Unserved | None = GONE, records: dict[str, CallRecord] = WAITING) -> list[Event]:
    return observe(calling(), records, sight(later_s, unserved))


@pytest.mark.parametrize("records", [WAITING, PLACED], ids=["waits for a place", "has a place"])
def test_it_is_given_up_after_the_queue_timeout_and_not_before(records: dict[str, CallRecord]) -> None:
    assert seen(QUEUE_TIMEOUT_S - 0.1, records=records) == []
    (given_up,) = seen(QUEUE_TIMEOUT_S, records=records)
    assert isinstance(given_up, ToolFinished)
    assert given_up.status == "tool_error"


def test_the_model_reads_which_skill_what_it_lacks_and_how_long_it_waited() -> None:
    (given_up,) = seen(QUEUE_TIMEOUT_S)
    assert isinstance(given_up, ToolFinished)
    told = json.loads(given_up.shown)
    assert told["error"] == "no_worker_for_skill"
    assert told["message"] == (
        "No worker can run the skill 'calculator': no queue 'gpu'. The call has waited 120 s for one."
    )
    assert told["fix"]


def test_the_time_runs_from_when_its_last_worker_went() -> None:
    assert seen(QUEUE_TIMEOUT_S, Unserved(NOW + 60)) == []
    assert len(seen(QUEUE_TIMEOUT_S + 60, Unserved(NOW + 60))) == 1


def test_it_is_sent_at_once_to_others_who_can_run_it_by_now() -> None:
    assert seen(0.1, Unserved(NOW, moved=True)) == [ToolUnstarted("1.0")]


def test_while_a_worker_serves_its_route_it_waits_for_as_long_as_it_takes() -> None:
    assert seen(10 * QUEUE_TIMEOUT_S, None) == []


def test_what_has_a_result_or_runs_is_not_given_up() -> None:
    done = CallResult(status="succeeded", shown="[]", worker="w1")
    (finished,) = seen(QUEUE_TIMEOUT_S, records={"1.0": replace(PLACED["1.0"], attempt=1, result=done)})
    assert isinstance(finished, ToolFinished)
    assert finished.status == "succeeded"
    assert (
        seen(QUEUE_TIMEOUT_S, records={"1.0": replace(PLACED["1.0"], attempt=1, beat_at=NOW + QUEUE_TIMEOUT_S)}) == []
    )


def test_it_is_looked_at_in_time() -> None:
    def look(later_s: float, unserved: Unserved | None = GONE) -> float | None:
        due = next_due(calling(), WAITING, sight(later_s, unserved))
        return due and round(due - NOW - later_s, 3)

    assert look(0) == PLACED_LOOK_S
    assert look(QUEUE_TIMEOUT_S - 1) == 1
    assert look(QUEUE_TIMEOUT_S + 1) == SOONEST_LOOK_S
    assert look(0, None) == WAITING_LOOK_S
    assert look(10_000, None) == QUEUE_TIMEOUT_S / 2


@dataclass
class Workers:
    """The port to the tool queues, as a test says it is."""

    rooms_now: Rooms = field(default_factory=Rooms)
    route_now: str = "gpu"
    asked: list[str] = field(default_factory=list)

    def route(self, conversation: Conversation, run: ToolRun) -> str:
        return self.route_now if run.skill else ""

    def send(self, conversation: Conversation, run: ToolRun) -> None:
        raise AssertionError("nothing is sent here")

    def queue_empty(self, route: str) -> bool:
        self.asked.append(route)
        return route == "gpu"

    def rooms(self, call_s: float) -> Rooms:
        return self.rooms_now

    def why_not(self, conversation: Conversation, run: ToolRun) -> str:
        return "no queue"


class Fleet:
    def __init__(self) -> None:
        self.time = 0.0
        self.workers = Workers()
        self.sending = Sending(MemoryLedger(MemoryStore()), self.workers, lambda: self.time)

    def look(self, *served: str) -> None:
        self.workers.rooms_now = Rooms(4, dict.fromkeys(served, 4))
        self.sending.make_room()

    def look_on(self, seconds: int, *served: str) -> None:
        """Every second."""
        for _ in range(seconds):
            self.time += 1
            self.look(*served)

    def unserved(self) -> dict[str, Unserved]:
        return self.sending.unserved(Claim(calling(), 1, NOW, records=WAITING))


@pytest.fixture
def fleet() -> Fleet:
    return Fleet()


def test_nobody_is_missed_before_anybody_was_looked_for(fleet: Fleet) -> None:
    fleet.time = 1000
    assert fleet.unserved() == {}


def test_who_was_never_seen_is_missed_from_the_first_look_on(fleet: Fleet) -> None:
    fleet.look()
    fleet.look_on(50)
    assert fleet.unserved() == {"1.0": Unserved(NOW - 50, "no queue")}


def test_who_was_seen_is_missed_from_when_they_were_seen_last(fleet: Fleet) -> None:
    fleet.look()
    fleet.look_on(50, "gpu")
    assert fleet.unserved() == {}
    fleet.look_on(7)
    assert fleet.unserved() == {"1.0": Unserved(NOW - 7, "no queue")}


def test_while_redis_was_away_nobody_was_missed(fleet: Fleet) -> None:
    fleet.look_on(50, "gpu")
    fleet.time += 300
    fleet.look()
    fleet.look_on(2)
    assert fleet.unserved() == {"1.0": Unserved(NOW - 2, "no queue")}


def test_a_call_whose_skill_others_can_run_by_now_has_moved(fleet: Fleet) -> None:
    fleet.look()
    fleet.workers.route_now = ""
    assert fleet.unserved()["1.0"].moved


def test_calls_are_given_their_routes_before_they_are_sent(fleet: Fleet) -> None:
    conversation = awaiting_calls(run_python(), list_skills("b"))
    after, effects = fleet.sending.routed(conversation, [RunTool(run) for run in conversation.out])
    assert [run.route for run in after.out] == ["gpu", ""]
    assert effects == [RunTool(run) for run in after.out]
    assert fleet.sending.routed(conversation, [CallModel()]) == (conversation, [CallModel()])


def test_only_the_queues_of_calls_at_hand_are_asked(fleet: Fleet) -> None:
    assert fleet.sending.empty_queues(Claim(calling(), 1, NOW, records=WAITING)) == set()
    assert fleet.workers.asked == []
    assert fleet.sending.empty_queues(Claim(calling(), 1, NOW, records=PLACED)) == {"gpu"}
    assert fleet.workers.asked == ["gpu"]
