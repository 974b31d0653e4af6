"""What a provider is sent besides texts and tools, and what it is asked without once it has refused it."""

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr
from tests.model_answers import MODEL, Answer, Completion, failure
from tests.model_server import KEY, ModelServer
from tests.orchestrator.asking import ASKED, TOOLS, model_of
from tests.pictures import png

from skillfleet.conversations.limits import Problem
from skillfleet.conversations.messages import FunctionCall, Message, ToolCall
from skillfleet.llm.base import Calling, Hear, ModelReply, ModelRequest, Piece, Said
from skillfleet.llm.failures import Failure
from skillfleet.llm.openai import OpenAIWire, openai_model
from skillfleet.llm.openai_request import body_of
from skillfleet.llm.provider import ProviderModel
from skillfleet_workers.wire.files import StoredFile

PNG = StoredFile(name="charts/a.png", digest="d1", bytes=4, media_type="image/png")
CSV = StoredFile(name="a.csv", digest="d2", bytes=9, media_type="text/csv")
LOST = StoredFile(name="lost.png", digest="d3", bytes=4, media_type="image/png")
BYTES = {"d1": b"\x89PNG", "d2": b"a,b\n1,2\n"}
SHOWN = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{base64.b64encode(BYTES['d1']).decode()}"}}
CALL = ToolCall(id="c1", function=FunctionCall(name="run", arguments="{}"))
CLOSED = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


def asked(*messages: Message, **more: Any) -> ModelRequest:
    return ModelRequest((*ASKED, *messages), file=BYTES.get, timeout_s=30, **more)


def question(*files: StoredFile) -> Message:
    return Message(role="user", content="What is it?", attachments=files)


def sent(request: ModelRequest, **options: Any) -> dict[str, Any]:
    return body_of(request, **{"stream": False, **options})


def text(shown: str) -> dict[str, str]:
    return {"type": "text", "text": shown}


def test_an_image_of_the_users_is_a_part_of_the_message_and_what_is_none_a_line() -> None:
    parts = sent(asked(question(PNG, CSV, LOST)))["messages"][-1]["content"]
    assert parts[:3] == [text("What is it?"), text("charts/a.png:"), SHOWN]
    assert [("a.csv" in part["text"], "no image" in part["text"]) for part in parts[3:4]] == [(True, True)]
    assert "lost.png" in parts[4]["text"] and "no longer there" in parts[4]["text"]


def test_the_images_of_a_turns_calls_come_behind_its_last_tool_message() -> None:
    other = ToolCall(id="c2", function=FunctionCall(name="look", arguments="{}"))
    messages = sent(
        asked(
            Message(role="assistant", tool_calls=(CALL, other)),
            Message(role="tool", tool_call_id="c1", name="run", content="1", attachments=(PNG,)),
            Message(role="tool", tool_call_id="c2", name="look", content="2"),
            Message(role="assistant", content="A chart."),
        )
    )["messages"]
    assert [message["role"] for message in messages[2:]] == ["assistant", "tool", "tool", "user", "assistant"]
    assert messages[5]["content"] == [text("charts/a.png from the call c1 of run:"), SHOWN]
    assert messages[3] == {"role": "tool", "tool_call_id": "c1", "content": "1"}


def test_what_is_not_asked_for_is_left_out() -> None:
    assert sent(asked()).keys() == {"messages"}
    assert "tool_choice" not in sent(asked(may_call=False)), "there is no tool to choose"


def test_a_model_that_may_not_call_is_told_so_and_how_much_it_may_say() -> None:
    body = sent(asked(tools=TOOLS, may_call=False, max_output_tokens=7))
    assert (body["tool_choice"], body["max_completion_tokens"]) == ("none", 7)


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (CLOSED, True),
        (CLOSED | {"required": []}, False),
        (CLOSED | {"additionalProperties": True}, False),
        (CLOSED | {"properties": {"n": {"type": "integer", "minimum": 1}}}, False),
        (CLOSED | {"properties": {"n": {"type": "array", "items": {"type": "object"}}}}, False),
        (CLOSED | {"properties": {"n": {"anyOf": [CLOSED, {"type": "null"}]}}}, True),
    ],
)
def test_a_schema_is_strict_only_where_every_object_is_closed_and_required(schema: Any, strict: bool) -> None:
    about = sent(asked(schema=schema))["response_format"]["json_schema"]
    assert (about["schema"], about["strict"]) == (schema, strict)


def test_a_schema_of_no_object_is_not_sent() -> None:
    assert "response_format" not in sent(asked(schema={"type": "array"}))


def refusing(word: str, said: str) -> Callable[[dict[str, Any]], Answer]:
    """A provider that does not take requests that hold `word`."""
    return lambda body: failure(400, said) if word in json.dumps(body) else Completion("42")


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("image_url", "Invalid content type. image_url is only supported by certain models."),
        ("image_url", "bad request"),
        ("response_format", "response_format is not supported"),
        ("stream_options", "Unrecognized request argument supplied: stream_options"),
    ],
)
def test_what_a_provider_refuses_is_left_out_now_and_later(word: str, said: str) -> None:
    request = asked(*([question(PNG)] if word == "image_url" else []), schema=CLOSED)
    with ModelServer(refusing(word, said)) as server:
        model = model_of(server)
        replies = [model.reply(request) for _ in range(2)]
    assert [isinstance(reply, ModelReply) for reply in replies] == [True, True], replies
    holding = [word in json.dumps(received.body) for received in server.received]
    assert holding == [True, False, False]


def test_only_what_the_provider_names_is_left_out() -> None:
    with ModelServer(refusing("response_format", "response_format is not supported")) as server:
        model_of(server).reply(asked(schema=CLOSED))
    assert "stream_options" in server.received[-1].body


def test_it_is_asked_with_all_again_after_a_while() -> None:
    with ModelServer(refusing("response_format", "no")) as server:
        wire = OpenAIWire(KEY, server.base_url, MODEL, streaming=True)
        model = ProviderModel(lambda: wire, refused_s=0.0)
        for _ in range(2):
            model.reply(asked(schema=CLOSED))
    assert ["response_format" in received.body for received in server.received] == [True, False, True, False]


class WhileThatEnds:
    """What was refused is forgotten while an attempt goes on."""

    def __init__(self, wire: OpenAIWire) -> None:
        self._wire = wire
        self.model = ProviderModel(lambda: self)

    def attempt(self, request: ModelRequest, timeout_s: float, hear: Hear) -> ModelReply | Failure:
        self.model._refused_until = 0.0
        return self._wire.attempt(request, timeout_s, hear)


def test_the_while_is_made_no_longer_by_what_was_not_refused_in_it() -> None:
    with ModelServer(refusing("response_format", "no")) as server:
        model = WhileThatEnds(OpenAIWire(KEY, server.base_url, MODEL, streaming=True)).model
        for _ in range(3):
            model.reply(asked(schema=CLOSED))
    holding = ["response_format" in received.body for received in server.received]
    assert holding == [True, False, False, True, False]


def test_an_image_that_is_refused_blinds_no_other_conversation() -> None:
    broken = PNG.model_copy(update={"digest": CSV.digest, "name": "broken.png"})
    with ModelServer(refusing("broken.png:", "Could not process image")) as server:
        model = model_of(server)
        for image in (broken, broken, PNG):
            model.reply(replace(asked(question(image)), file={PNG.digest: png(), CSV.digest: png()}.get))
    holding = ["image_url" in json.dumps(received.body) for received in server.received]
    assert holding == [True, False, False, True]


def test_a_request_that_is_bad_for_another_reason_ends_with_the_reason() -> None:
    with ModelServer(lambda body: failure(400, "no such parameter")) as server:
        outcome = model_of(server).reply(asked(question(PNG)))
    assert isinstance(outcome, Problem) and outcome.code == "model_bad_request"
    assert len(server.received) == 2


def test_a_model_that_is_known_to_be_blind_is_never_sent_an_image() -> None:
    with ModelServer(lambda body: Completion("42")) as server:
        openai_model(SecretStr(KEY), server.base_url, MODEL, vision=False).reply(asked(question(PNG)))
    (received,) = server.received
    assert "takes no images" in received.body["messages"][-1]["content"]


def test_a_reply_is_heard_while_it_comes() -> None:
    heard: list[Piece] = []
    completion = Completion("Looking around.", calls=(("c1", "run", '{"script": "print(6*7)"}'),))
    with ModelServer([completion]) as server:
        reply = model_of(server).reply(asked(), heard.append)
    assert isinstance(reply, ModelReply)
    assert "".join(piece.text for piece in heard if isinstance(piece, Said)) == reply.message.content
    (call,) = reply.message.tool_calls or ()
    assert "".join(p.arguments for p in heard if isinstance(p, Calling)) == call.function.arguments
    assert len(heard) > 4
