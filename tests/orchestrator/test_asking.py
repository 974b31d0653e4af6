"""What a model is asked with: the skills that the conversation keeps to, and the model that its skill asks for."""

from collections.abc import Iterator

import pytest
from tests.conversation_steps import asks, call, list_skills, make_spec, says
from tests.orchestrator.driver_parts import Place
from tests.skill_snapshots import Shelf, activated, governing, published, snapshot, under

from skillfleet.conversations.asking import Asking
from skillfleet.conversations.limits import Problem
from skillfleet.conversations.messages import Message
from skillfleet.conversations.models import Conversation, ConversationSpec
from skillfleet.conversations.moves import ModelFailed, ModelReplied
from skillfleet.conversations.schedule import WORKER_WAIT_S
from skillfleet.llm.base import Hear, LanguageModel, ModelReply, ModelRequest, deaf
from skillfleet_workers.wire.calls import CallResult
from skillfleet_workers.wire.contract import ACTIVATE, UsedSkill

PDF, LAB = snapshot("pdf"), snapshot("lab")


class Asked:
    """Answers in turn; keeps what it was asked, and of which model."""

    def __init__(self, *replies: Message | Problem) -> None:
        self._replies = list(replies)
        self.systems: list[str] = []
        self.tools: list[set[str]] = []
        self.models: list[str] = []

    def __call__(self, spec: ConversationSpec) -> LanguageModel:
        self.models.append(spec.model)
        return self

    def reply(self, request: ModelRequest, hear: Hear = deaf) -> ModelReply | Problem:
        self.systems.append(request.messages[0].content or "")
        self.tools.append({tool.function.name for tool in request.tools})
        reply = self._replies.pop(0)
        return ModelReply(reply) if isinstance(reply, Message) else reply


def asked_with(conversation: Conversation, shelf: Shelf | None, model: Asked | None = None) -> Asked:
    """One turn."""
    model = model or Asked(says("42").message)
    Asking(model, shelf, lambda: 0.0).ask(conversation, 0.0)
    return model


@pytest.fixture
def place() -> Iterator[Place]:
    here = Place()
    with here.working():
        yield here


def accept(place: Place) -> None:
    place.ledger.submit(make_spec(created_at=0.0).model_copy(update={"model": "own"}))


def test_the_skills_stand_in_the_system_message_of_the_request_and_not_in_the_transcript(place: Place) -> None:
    model = Asked(asks(list_skills()).message, says("42").message)
    accept(place)
    with place.driving(model, catalogs=Shelf(PDF)):
        ended = place.ended()
    assert ended.snapshot == PDF.id
    assert model.systems[0] == model.systems[1], "the same prompt, so that caches hold"
    assert "<name>pdf</name>" in model.systems[0]
    assert ended.messages[0].content == ended.spec.opening[0].content
    assert "<name>pdf</name>" not in str(ended.messages)


def test_a_conversation_keeps_to_the_skills_that_it_began_with(place: Place) -> None:
    shelf = Shelf(PDF)

    class Changing(Asked):
        def reply(self, request: ModelRequest, hear: Hear = deaf) -> ModelReply | Problem:
            shelf.publish(LAB)
            return super().reply(request, hear)

    model = Changing(asks(list_skills()).message, says("42").message, says("43").message)
    accept(place)
    with place.driving(model, catalogs=shelf):
        assert place.ended().snapshot == PDF.id
        place.ledger.submit(make_spec("c2"))
        assert place.ended("c2").snapshot == LAB.id
    assert ["<name>pdf</name>" in system for system in model.systems] == [True, True, False]


def test_a_conversation_waits_a_little_for_the_first_worker(place: Place) -> None:
    shelf, model = Shelf(), Asked(says("42").message)
    accept(place)
    with place.driving(model, catalogs=shelf):
        place.until(lambda: shelf.looks > 1, "it looks for one again")
        waiting = place.ledger.load("c1")
        assert waiting is not None and (waiting.status, model.systems) == ("queued", [])
        shelf.publish(PDF)
        place.wake()
        assert place.ended().snapshot == PDF.id
    assert "<name>pdf</name>" in model.systems[0]


def test_without_a_worker_it_begins_then_and_is_pinned_by_the_turn_that_sees_one(place: Place) -> None:
    shelf = Shelf()

    class Coming(Asked):
        def reply(self, request: ModelRequest, hear: Hear = deaf) -> ModelReply | Problem:
            shelf.publish(PDF)
            return super().reply(request, hear)

    model = Coming(asks(list_skills()).message, asks(list_skills("b")).message, says("42").message)
    accept(place)
    with place.driving(model, catalogs=shelf):
        place.pass_time(WORKER_WAIT_S)
        ended = place.ended()
    assert (ended.snapshot, ended.answer) == (PDF.id, "42")
    assert ["available_skills>" in system for system in model.systems] == [False, True, True]
    assert [ACTIVATE.tool in tools for tools in model.tools] == [False, True, True]


def test_where_nobody_tells_of_skills_nothing_waits_for_them(place: Place) -> None:
    model = Asked(says("42").message)
    accept(place)
    with place.driving(model):
        assert (place.ended().answer, place.ended().snapshot) == ("42", "")
    assert "<available_skills>" not in model.systems[0]


@pytest.mark.parametrize("shelf", [Shelf(snapshot()), Shelf(snapshot(published("x", hidden=True))), None])
def test_without_a_skill_to_tell_of_there_is_none_to_activate(shelf: Shelf | None) -> None:
    model = asked_with(under("pdf"), shelf)
    assert ACTIVATE.tool not in model.tools[0]
    assert "<available_skills>" not in model.systems[0]


def test_a_conversation_that_may_use_few_skills_is_shown_those() -> None:
    spec = under("pdf").spec.model_copy(update={"skills": ("lab",)})
    model = asked_with(under("pdf").model_copy(update={"spec": spec}), Shelf(snapshot("pdf", "lab")))
    assert "<name>lab</name>" in model.systems[0] and "<name>pdf</name>" not in model.systems[0]


def test_where_the_skills_that_it_began_with_are_forgotten_it_is_pinned_anew() -> None:
    conversation = under("pdf").model_copy(update={"snapshot": "gone"})
    event = Asking(Asked(says("42").message), Shelf(PDF), lambda: 0.0).ask(conversation, 0.0)
    assert isinstance(event, ModelReplied) and event.snapshot == PDF


def test_skills_that_have_no_room_are_told_of_in_the_log_once(caplog: pytest.LogCaptureFixture) -> None:
    shelf = Shelf(snapshot(*(published(f"skill-{number}") for number in range(50))))
    model = Asked(*[says("42").message] * 2)
    asking = Asking(model, shelf, lambda: 0.0, budget=1_000)
    for _ in range(2):
        asking.ask(under("pdf"), 0.0)
    assert "more: list_skills" in model.systems[1]
    assert len(caplog.messages) == 1 and "have no room" in caplog.messages[0]


def own(conversation: Conversation) -> Conversation:
    return conversation.model_copy(update={"spec": conversation.spec.model_copy(update={"model": "own"})})


def test_the_governing_skills_model_is_asked_and_followers_are_told(place: Place) -> None:
    model = Asked(
        asks(call("skill", name="pdf")).message, asks(list_skills("b")).message,
        asks(call("skill", name="lab")).message, says("42").message,
    )  # fmt: skip
    place.workers.answers = {
        "c1.1.0": CallResult(
            status="succeeded", shown="# PDF", governing=governing("pdf", model="better"), worker="w1",
            used=UsedSkill(name="pdf", version="1.0.0", digest="d"),
        ),
        "c1.3.0": CallResult(status="succeeded", shown="# Lab", governing=governing("lab"), worker="w1"),
    }  # fmt: skip
    accept(place)
    with place.driving(model, catalogs=Shelf(snapshot("pdf", "lab"))):
        ended = place.ended()
    assert model.models == ["own", "better", "better", "own"]
    assert [entry.data.get("model") for entry in place.followed() if entry.type == "turn"] == [
        None, "better", "better", None,
    ]  # fmt: skip
    assert [used.name for used in ended.used] == ["pdf"]


@pytest.mark.parametrize("code", ["model_not_found", "model_overloaded"])
@pytest.mark.parametrize("configured", [True, False])
def test_a_skills_model_that_fails_is_told_with_its_skill(code: str, configured: bool) -> None:
    problem = Problem(code=code, message="no such model", fix="Check LLM_MODEL_NAME.")
    failing = Asked(problem)
    event = Asking(failing if configured else lambda spec: problem, None, lambda: 0.0).ask(
        own(under("pdf", model="better")), 0.0
    )
    assert isinstance(event, ModelFailed)
    assert event.problem.code == code
    assert event.problem.message == "The skill pdf asks for the model better: no such model"
    assert ("skill's `model`" in event.problem.fix) == (code == "model_not_found")


def test_the_conversations_own_model_that_fails_is_told_as_it_is() -> None:
    problem = Problem(code="model_not_found", message="no such model", fix="Check LLM_MODEL_NAME.")
    event = Asking(lambda spec: problem, None, lambda: 0.0).ask(own(under("pdf")), 0.0)
    assert event == ModelFailed(problem)


def test_a_second_activation_asks_no_worker_and_is_told_to_followers(place: Place) -> None:
    model = Asked(
        asks(call("skill", name="pdf")).message, asks(call("skill", name="pdf")).message, says("42").message
    )
    told = activated("1.0", "pdf")
    place.workers.answers = {
        "c1.1.0": CallResult(status="succeeded", shown="# PDF", governing=told.governing, worker="w1")
    }
    accept(place)
    with place.driving(model, catalogs=Shelf(PDF)):
        place.ended()
    assert [ref.key for ref in place.workers.sent] == ["1.0"]
    results = [entry.data for entry in place.followed() if entry.type == "result"]
    assert [(one["key"], one["status"]) for one in results] == [("1.0", "succeeded"), ("2.0", "succeeded")]
    assert "active again" in results[1]["tail"]
