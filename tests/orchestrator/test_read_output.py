"""A transcript that its model has no room for, and the tool that reads what was left out."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from tests.conversation_steps import after, call, last_effects, make_spec, says
from tests.model_answers import MODEL, Completion
from tests.model_server import KEY, ModelServer
from tests.orchestrator.driver_parts import Place
from tests.orchestrator.test_trimming import SIZE, trimmed, turns

from skillfleet.conversations.asking import Asking
from skillfleet.conversations.limits import Problem
from skillfleet.conversations.messages import Message
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import CallModel, ModelFailed, ModelReplied
from skillfleet.conversations.outputs import Executions, no_executions, piece
from skillfleet.conversations.trimming import MOST_TRIMS
from skillfleet.llm.base import Hear, ModelReply, ModelRequest, deaf
from skillfleet.llm.facts import KnownModels, ModelFacts
from skillfleet.llm.openai import openai_model
from skillfleet.results import CeleryResults
from skillfleet.settings import OrchestratorSettings
from skillfleet_workers.wire.calls import CallResult
from skillfleet_workers.wire.celery import make_celery
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.contract import READ_LIMIT_BYTES, CallRef, Document
from skillfleet_workers.wire.execution import ScriptExecution
from skillfleet_workers.wire.shown import shown_to_model

TOO_LONG = Problem(code="model_context_exceeded", message="too long", fix="shorter")
RUN = ScriptExecution(status="succeeded", stdout="out " * 10_000, stderr="warned", returncode=0)


class Answers:
    """A model that gives these in turn, and keeps how long its requests were."""

    def __init__(self, *answers: Message | Problem) -> None:
        self._answers = list(answers)
        self.chars: list[int] = []
        self.tools: list[set[str]] = []

    def reply(self, request: ModelRequest, hear: Hear = deaf) -> ModelReply | Problem:
        self.chars.append(sum(len(message.content or "") for message in request.messages))
        self.tools.append({tool.function.name for tool in request.tools})
        answer = self._answers.pop(0)
        return answer if isinstance(answer, Problem) else ModelReply(answer)


def asked(
    conversation: Conversation, model: Answers, *, window: int = 10**6, executions: Executions = no_executions
) -> ModelReplied | ModelFailed:
    known = KnownModels({"*": ModelFacts(window=window, max_output=1_000)})
    asking = Asking(lambda spec: model, None, lambda: 0.0, known=known, executions=executions)
    event = asking.ask(conversation, conversation.spec.created_at)
    assert isinstance(event, ModelReplied | ModelFailed)
    return event


def reads(**arguments: Any) -> Message:
    return Message(role="assistant", tool_calls=(call("read_output", "r", **arguments),))


def brought(conversation: Conversation, message: Message, executions: Executions = no_executions) -> str:
    """What the call of the message is answered with."""
    event = asked(conversation, Answers(message), executions=executions)
    assert last_effects(conversation, event) == [CallModel()], "no worker is asked"
    return after(conversation, event).messages[-1].content or ""


@pytest.fixture(scope="module")
def long() -> Conversation:
    """Its oldest outputs are pointers."""
    return trimmed(turns(5), 1_000)


def test_a_request_that_would_not_fit_is_trimmed_and_stays_so() -> None:
    model = Answers(says("42").message)
    event = asked(turns(10), model, window=110_000)
    assert isinstance(event, ModelReplied) and event.trimmed > 0
    assert model.chars[0] < 110_000 * 4
    assert "read_output" in model.tools[0]
    assert after(turns(10), event).trimmed == event.trimmed


def test_a_provider_that_finds_it_too_long_is_asked_with_less() -> None:
    model = Answers(TOO_LONG, TOO_LONG, says("42").message)
    event = asked(turns(6), model)
    assert isinstance(event, ModelReplied) and event.trimmed > 0
    assert model.chars == sorted(set(model.chars), reverse=True)


def test_a_provider_that_always_finds_it_too_long_ends_it_with_the_reason() -> None:
    model = Answers(*[TOO_LONG] * 9)
    assert asked(turns(6), model) == ModelFailed(TOO_LONG)
    assert len(model.chars) == 1 + MOST_TRIMS


def test_where_nothing_can_be_left_out_it_is_asked_once() -> None:
    model = Answers(*[TOO_LONG] * 9)
    assert asked(turns(0), model) == ModelFailed(TOO_LONG)
    assert len(model.chars) == 1


def test_an_output_that_is_a_pointer_is_read_from_the_transcript(long: Conversation) -> None:
    first = brought(long, reads(call="1.0"))
    assert first.startswith("x" * READ_LIMIT_BYTES)
    assert f"offset={READ_LIMIT_BYTES}" in first
    assert brought(long, reads(call="1.0", offset=READ_LIMIT_BYTES)) == "x" * (SIZE - READ_LIMIT_BYTES)


def test_of_a_run_the_whole_streams_are_read(long: Conversation) -> None:
    refs: list[CallRef] = []

    def executions(ref: CallRef) -> ScriptExecution:
        refs.append(ref)
        return RUN

    rest = brought(long, reads(call="2.0", offset=READ_LIMIT_BYTES), executions)
    assert "out out" in rest and rest.endswith("[stderr]\nwarned")
    assert [ref.key for ref in refs] == ["2.0"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [({"call": "9.9"}, "unknown_call"), ({}, "malformed_arguments"), ({"call": "1.0", "offset": -1}, "offset")],
)
def test_what_cannot_be_read_is_told_to_the_model(
    long: Conversation, arguments: dict[str, object], says: str
) -> None:
    assert says in brought(long, reads(**arguments))


def test_where_all_is_shown_there_is_no_such_tool() -> None:
    assert "unknown_tool" in brought(turns(1), reads(call="1.0"))


def test_what_is_cut_from_the_start_names_the_call_and_can_be_read() -> None:
    shown = shown_to_model(RUN, "1.0")
    conversation = turns(1, shown=shown)
    assert "read_output with call='1.0'" in shown
    assert brought(conversation, reads(call="1.0"), lambda ref: RUN).count("out ") > 8_000


def test_pieces_end_on_a_character() -> None:
    text = "a" + "é" * READ_LIMIT_BYTES
    first = piece(text, 0)
    assert first.startswith("aé") and f"[cut at byte {READ_LIMIT_BYTES - 1} of" in first
    assert piece(text, len(text.encode()) - 2) == "é"
    assert "nothing at byte" in piece("abc", 3)


def test_full_results_are_read_from_the_result_backend(redis_urls: RedisUrls, tmp_path: Path) -> None:
    settings = OrchestratorSettings(redis_url=redis_urls.url, state_dir=tmp_path)
    app = make_celery(settings)
    ref = CallRef(conversation_id="c1", turn=1, index=0, attempt=3)
    big = RUN.model_copy(update={"stdout": "é" * 3_000_000})
    document = Document(skill_name="a", path="b", text="c", offset=0, next_offset=None, total_bytes=1)
    results = CeleryResults(lambda: app)
    assert results.execution(ref) is None
    for attempt, result in ((1, RUN), (2, big)):
        task_id = ref.model_copy(update={"attempt": attempt}).task_id
        app.backend.store_result(task_id, result.model_dump(mode="json"), "SUCCESS")
    assert results.execution(ref) == big
    other = CallRef(conversation_id="c1", turn=2, index=0)
    app.backend.store_result(other.task_id, document.model_dump(mode="json"), "SUCCESS")
    assert results.execution(other) is None


def test_a_model_reads_what_it_is_no_longer_shown() -> None:
    """Over HTTP: the provider sees a pointer, calls by it, and is brought the output."""
    place, big = Place(), "42 " * 100_000
    place.workers.answers = {
        f"c1.{turn}.0": CallResult(status="succeeded", shown=big[: 300_001 - turn], worker="w1")
        for turn in range(1, 5)
    }
    runs = [
        Completion(calls=((f"r{turn}", "list_skills", f'{{"tags": ["{turn}"]}}'),), usage=(0, 5)) for turn in range(4)
    ]
    reading = Completion(calls=(("o", "read_output", '{"call": "1.0", "offset": 299990}'),), usage=(0, 5))
    with ModelServer([*runs, reading, Completion("Done.")]) as server, place.working():
        model = openai_model(SecretStr(KEY), server.base_url, MODEL)
        place.ledger.submit(make_spec(created_at=0.0))
        with place.driving(model):
            ended = place.ended()
    assert ended.answer == "Done.", ended.error
    first = [received.body["messages"][3]["content"] for received in server.received[1:]]
    assert [content == big for content in first] == [True, True, False, False, False]
    assert "read_output with call='1.0'" in first[-1] and len(set(first[2:])) == 1
    assert server.received[-1].body["messages"][-1]["content"] == big[299_990:]
    assert [ref.key for ref in place.workers.sent] == ["1.0", "2.0", "3.0", "4.0"]
