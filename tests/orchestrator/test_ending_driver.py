"""A driver that is asked to end, and one that has lost redis on the way."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
import redis
from tests.conversation_steps import NOW, call, make_spec
from tests.orchestrator.driver_parts import PATIENCE_S, HeldModel, Place

from skillfleet.conversations.asking import Asking
from skillfleet.conversations.driver import Driver
from skillfleet.conversations.ledger import Claim, Nothing, Written
from skillfleet.conversations.memory_ledger import MemoryLedger
from skillfleet.conversations.messages import Message, ToolCall
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.runs import ToolRun
from skillfleet.conversations.schedule import LEAST_ROOMS, Rooms
from skillfleet.events import Told
from skillfleet.llm.base import Hear, ModelReply, ModelRequest, deaf


@pytest.fixture
def place() -> Place:
    return Place()


class Asks(HeldModel):
    """Answers with these calls, time and again."""

    def __init__(self, *calls: ToolCall) -> None:
        super().__init__()
        self._calls = calls

    def reply(self, request: ModelRequest, hear: Hear = deaf) -> ModelReply:
        super().reply(request, hear)
        return ModelReply(Message(role="assistant", tool_calls=self._calls))


@contextmanager
def ending(place: Place, model: HeldModel, grace_s: float = PATIENCE_S) -> Iterator[Driver]:
    """A driver that has been asked to end while its model thinks; it has ended when the block is left."""
    driver = Driver(place.ledger, Asking(lambda spec: model), place.workers, slots=2, grace_s=grace_s)
    thread = threading.Thread(target=driver.run)
    thread.start()
    place.ledger.submit(make_spec())
    assert model.asked.wait(PATIENCE_S)
    driver.stop()
    try:
        yield driver
    finally:
        thread.join(PATIENCE_S)
    assert not thread.is_alive()


def loaded(place: Place) -> Conversation:
    conversation = place.ledger.load("c1")
    assert conversation is not None
    return conversation


def test_a_reply_that_comes_in_time_is_recorded(place: Place) -> None:
    model = HeldModel("42")
    with ending(place, model):
        model.go_on.set()
    assert (loaded(place).status, loaded(place).answer) == ("completed", "42")


def test_the_calls_of_such_a_reply_are_sent(place: Place) -> None:
    model = Asks(call("list_skills"))
    with ending(place, model):
        model.go_on.set()
    assert [ref.task_id for ref in place.workers.sent] == ["c1.1.0.1"]


def test_no_model_is_asked_after_it_and_the_next_turn_is_for_others_at_once(place: Place) -> None:
    model = Asks(call("no_such_tool"))
    with ending(place, model):
        model.go_on.set()
    assert loaded(place).turn == 1
    claim = place.ledger.claim()
    assert isinstance(claim, Claim)
    assert [entry.type for entry in place.ledger.entries("c1", "0", 0)].count("turn") == 1


def test_what_does_not_come_in_time_is_for_others_at_once(place: Place) -> None:
    model = HeldModel()
    with ending(place, model, grace_s=0):
        pass
    assert isinstance(place.ledger.claim(), Claim)
    model.go_on.set()


def test_asked_twice_it_waits_for_nothing(place: Place) -> None:
    model = HeldModel()
    with ending(place, model) as driver:
        assert isinstance(place.ledger.claim("c1"), Nothing)
        driver.stop()
    assert isinstance(place.ledger.claim(), Claim)
    model.go_on.set()


class Forgetful(MemoryLedger):
    """Cannot be reached by one commit."""

    failures = 1

    def commit(
        self,
        fence: int,
        after: Conversation,
        told: Sequence[Told],
        due: float | None,
        sends: Sequence[ToolRun] = (),
        rooms: Rooms = LEAST_ROOMS,
        taken: Sequence[str] = (),
    ) -> Written | None:
        if self.failures:
            self.failures -= 1
            raise redis.ConnectionError("gone")
        return super().commit(fence, after, told, due, sends, rooms, taken)


def test_what_was_in_hand_when_redis_was_lost_goes_on_when_it_is_back(place: Place) -> None:
    place.store.clock = lambda: NOW  # so that no lease ever ends
    ledger, model = Forgetful(place.store), HeldModel("42")
    model.go_on.set()
    with place.driving(model, ledger=ledger):
        ledger.submit(make_spec())
        place.until(lambda: loaded(place).terminal, "it goes on")
    assert (loaded(place).answer, ledger.failures) == ("42", 0)
