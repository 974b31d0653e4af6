"""The driver, with real threads over a ledger in memory."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from tests.conversation_steps import make_spec
from tests.orchestrator.driver_parts import PATIENCE_S, HeldModel, Place

from skillfleet.conversations.ledger import LEASE_S, Claim, Nothing, Written
from skillfleet.conversations.limits import Problem
from skillfleet.conversations.memory_ledger import MemoryLedger
from skillfleet.conversations.memory_store import MemoryStore
from skillfleet.conversations.messages import Message, transcript_problem
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.schedule import LOST_AFTER_S, RESEND_AFTER_S
from skillfleet.llm.base import Hear, ModelReply, ModelRequest, deaf

LIST = {"tool": "list_skills", "as": "listed"}
RUN = {"tool": "run_python_script", "arguments": {"skill_name": "calculator", "script": "print(1)"}}


@pytest.fixture
def place() -> Iterator[Place]:
    here = Place()
    with here.working():
        yield here


def submit(place: Place, *replies: object, name: str = "c1", **limits: float) -> None:
    script = {"replies": [r if isinstance(r, dict) else {"text": r} for r in replies]}
    place.ledger.submit(make_spec(name, **limits).model_copy(update={"script": script}))


def tool_texts(conversation: Conversation) -> list[str | None]:
    return [message.content for message in conversation.messages if message.role == "tool"]


def test_a_conversation_runs_from_prompt_to_answer(place: Place) -> None:
    submit(place, {"calls": [LIST, RUN]}, {"calls": [RUN]}, "42")
    with place.driving():
        ended = place.ended()
    assert (ended.status, ended.answer, ended.turn) == ("completed", "42", 3)
    assert tool_texts(ended) == ["result of 1.0", "result of 1.1", "result of 2.0"]
    assert transcript_problem(ended.messages) is None
    entries = place.ledger.entries("c1", "0", 0)
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    assert [ref.task_id for ref in place.workers.sent] == ["c1.1.0.1", "c1.1.1.1", "c1.2.0.1"]


def test_a_turn_of_wrong_calls_alone_goes_on_without_a_worker(place: Place) -> None:
    submit(place, {"calls": [{"tool": "rm_rf"}, {"tool": "get_skill"}]}, "I give up")
    with place.driving():
        ended = place.ended()
    assert (ended.status, ended.answer) == ("completed", "I give up")
    assert place.workers.sent == []


def test_two_slots_ask_two_models_at_once(place: Place) -> None:
    together = threading.Barrier(2, timeout=PATIENCE_S)

    class Meeting:
        def reply(self, request: ModelRequest, hear: Hear = deaf) -> ModelReply:
            together.wait()
            return ModelReply(Message(role="assistant", content="met"))

    submit(place, name="c1")
    submit(place, name="c2")
    with place.driving(Meeting(), slots=2):
        assert [place.ended(name).answer for name in ("c1", "c2")] == ["met", "met"]


def test_many_conversations_share_few_slots(place: Place) -> None:
    names = [f"c{number:02}" for number in range(30)]
    for name in names:
        submit(place, {"calls": [LIST]}, name, name=name)
    with place.driving(slots=2):
        assert [place.ended(name).answer for name in names] == names


def test_two_drivers_never_do_a_step_twice(place: Place) -> None:
    names = [f"c{number:02}" for number in range(20)]
    for name in names:
        submit(place, {"calls": [LIST, RUN]}, name, name=name)
    with place.driving(), place.driving():
        ended = [place.ended(name) for name in names]
    assert all(len(conversation.messages) == 6 for conversation in ended)
    assert len(place.workers.sent) == len(set(place.workers.sent)) == 40


def test_a_model_that_fails_ends_the_conversation(place: Place) -> None:
    submit(place, {"calls": [LIST]})
    with place.driving():
        ended = place.ended()
    assert ended.error is not None
    assert (ended.status, ended.error.code) == ("failed", "script_exhausted")
    assert transcript_problem(ended.messages) is None


def test_a_model_that_is_not_configured_ends_the_conversation(place: Place) -> None:
    problem = Problem(code="model_not_configured", message="LLM_API_KEY is not set")
    submit(place)
    with place.driving(problem):
        assert place.ended().error == problem


def test_cancelling_ends_a_conversation_while_its_model_thinks_and_its_reply_is_dropped(place: Place) -> None:
    model, ledger = HeldModel(), WatchedLedger(place.store)
    submit(place)
    with place.driving(model, ledger=ledger, slots=2):
        assert model.asked.wait(PATIENCE_S)
        assert place.ledger.cancel("c1")
        ended = place.ended()
        assert not model.go_on.is_set()
        model.go_on.set()
        place.until(lambda: ledger.refused == ["c1"], "the late reply is refused")
    assert ended.status == "cancelled"
    assert place.ledger.load("c1") == ended
    assert place.followed()[-1].seq == place.ledger.entries("c1", "0", 0)[-1].seq


def test_a_cancelled_conversation_gives_up_the_only_slot_while_its_model_thinks_on(place: Place) -> None:
    model = HeldModel()
    submit(place)
    with place.driving(model, slots=1):
        assert model.asked.wait(PATIENCE_S)
        assert place.ledger.cancel("c1")
        assert place.ended().status == "cancelled"
        assert not model.go_on.is_set()
        submit(place, name="c2")
        model.go_on.set()
        assert place.ended("c2").status == "completed"


def test_cancelling_stops_calls_that_are_out(place: Place) -> None:
    place.workers.poisoned = 1
    submit(place, {"calls": [RUN]}, "never said")
    with place.driving():
        place.followed(until="started")
        place.ledger.cancel("c1")
        ended = place.ended()
    assert [run.status for run in ended.runs] == ["cancelled"]
    assert transcript_problem(ended.messages) is None
    assert place.workers.ledger.beat(place.workers.sent) == place.workers.sent


def test_a_conversation_whose_model_outlasts_the_deadline_expires(place: Place) -> None:
    class Slow:
        def reply(self, request: ModelRequest, hear: Hear = deaf) -> ModelReply:
            threading.Event().wait(request.timeout_s)
            return ModelReply(Message(role="assistant", content="too late"))

    submit(place, timeout_s=0.1)
    with place.driving(Slow()):
        ended = place.ended()
    assert ended.error is not None
    assert (ended.status, ended.error.code, ended.answer) == ("expired", "timeout", None)


@pytest.mark.parametrize("slots", [1, 4])
def test_a_driver_that_is_stopped_hands_back_what_waits_for_a_model(place: Place, slots: int) -> None:
    model, ledger = HeldModel("late"), WatchedLedger(place.store)
    submit(place, "42")
    with place.driving(model, ledger=ledger, slots=slots):
        assert model.asked.wait(PATIENCE_S)
        assert isinstance(place.ledger.claim(), Nothing)
    handed_back = place.ledger.claim()
    assert isinstance(handed_back, Claim)
    place.ledger.release("c1", handed_back.fence)
    with place.driving():
        assert place.ended().answer == "42"
    before = place.ledger.entries("c1", "0", 0)
    model.go_on.set()
    place.until(lambda: ledger.refused == ["c1"], "the late reply is refused")
    assert place.ledger.entries("c1", "0", 0) == before


def test_a_conversation_of_a_dead_orchestrator_goes_on_when_its_lease_ends(place: Place) -> None:
    submit(place, "42")
    assert isinstance(place.ledger.claim(), Claim)
    with place.driving():
        place.pass_time(LEASE_S)
        assert place.ended().answer == "42"


def test_a_call_whose_message_was_lost_is_sent_again(place: Place) -> None:
    place.workers.losing = 1
    submit(place, {"calls": [RUN]}, "42")
    with place.driving():
        place.followed(until="call")
        place.until(lambda: place.workers.sent, "the call is sent")
        place.pass_time(RESEND_AFTER_S)
        assert place.ended().answer == "42"
    assert [ref.task_id for ref in place.workers.sent] == ["c1.1.0.1", "c1.1.0.1"]


def test_a_call_whose_worker_died_is_run_by_another(place: Place) -> None:
    place.workers.poisoned = 1
    submit(place, {"calls": [LIST]}, "42")
    with place.driving():
        place.followed(until="started")
        place.pass_time(2 * LOST_AFTER_S)
        assert tool_texts(place.ended()) == ["result of 1.0"]
    assert [ref.attempt for ref in place.workers.sent] == [1, 2]


def test_a_script_whose_worker_died_is_not_run_again(place: Place) -> None:
    place.workers.poisoned = 1
    submit(place, {"calls": [RUN]}, "42")
    with place.driving():
        place.followed(until="started")
        place.pass_time(2 * LOST_AFTER_S)
        (told,) = tool_texts(place.ended())
    assert "worker_lost" in (told or "")
    assert len(place.workers.sent) == 1


def test_only_the_named_conversation_is_served(place: Place) -> None:
    submit(place, "first", name="c1")
    submit(place, "second", name="c2")
    with place.driving(only={"c2"}):
        assert place.ended("c2").answer == "second"
    other = place.ledger.load("c1")
    assert other is not None and other.status == "queued"


class WatchedLedger(MemoryLedger):
    """Notes whose commits it refused."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store)
        self.refused: list[str] = []

    def commit(self, fence: int, after: Conversation, *rest: Any) -> Written | None:
        done = super().commit(fence, after, *rest)
        if not done:
            self.refused.append(after.id)
        return done


class OutageLedger(MemoryLedger):
    """Cannot be reached at the first `claims` and `commits`."""

    claims, commits = 1, 1

    def claim(self, *asked: Any) -> Claim | Nothing:
        self.claims -= 1
        if self.claims >= 0:
            raise redis.ConnectionError("gone")
        return super().claim(*asked)

    def commit(self, *asked: Any) -> Written | None:
        self.commits -= 1
        if self.commits >= 0:
            raise redis.ConnectionError("gone")
        return super().commit(*asked)


def test_a_driver_outlives_an_outage_of_redis(place: Place) -> None:
    broken = OutageLedger(place.store)
    submit(place, "42")
    with place.driving(ledger=broken):
        place.until(lambda: broken.commits <= 0, "the first commit")
        place.pass_time(LEASE_S)
        assert place.ended().answer == "42"
