"""The chunks of a streamed completion, as providers really send them."""

import json
from typing import Any

import pytest
from tests.orchestrator.asking import ASKED

from skillfleet.conversations.limits import Usage
from skillfleet.conversations.messages import Message
from skillfleet.llm.base import Calling, ModelReply, Piece, Said
from skillfleet.llm.failures import ALWAYS, Failure
from skillfleet.llm.openai_stream import DONE, read_stream

END = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


def said(text: Any, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": text}, **more}]}


def called(index: int | None, arguments: str, name: str | None = None, call_id: str | None = None) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {
        "choices": [{"index": 0, "delta": {"tool_calls": [{"index": index, "id": call_id, "function": function}]}}]
    }


def read(*chunks: dict[str, Any] | str) -> tuple[ModelReply | Failure, list[Piece]]:
    heard: list[Piece] = []
    events = [("", chunk if isinstance(chunk, str) else json.dumps(chunk)) for chunk in chunks]
    return read_stream(events, ASKED, heard.append), heard


def reply_of(*chunks: dict[str, Any] | str) -> ModelReply:
    reply, _ = read(*chunks)
    assert isinstance(reply, ModelReply), reply
    return reply


def calls_of(*chunks: dict[str, Any] | str) -> list[tuple[str, str, str]]:
    calls = reply_of(*chunks, END, DONE).message.tool_calls or ()
    return [(call.id, call.function.name, call.function.arguments) for call in calls]


def failure_of(*chunks: dict[str, Any] | str) -> Failure:
    failure, _ = read(*chunks)
    assert isinstance(failure, Failure), failure
    return failure


def test_a_text_is_heard_as_it_comes_and_comes_back_whole() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}}
    reply, heard = read(
        said(None, finish_reason=None), said("It "), said("is 42."), END, {"choices": [], "usage": usage}
    )
    assert reply == ModelReply(
        Message(role="assistant", content="It is 42."), Usage(input_tokens=9, output_tokens=3, cached_input_tokens=4)
    )
    assert heard == [Said("It "), Said("is 42.")]


def test_calls_are_heard_with_their_place_and_name() -> None:
    chunks = called(0, "", "run", "a"), called(0, '{"x"'), called(1, "{}", "look", "b"), called(0, ": 1}")
    _, heard = read(*chunks, END, DONE)
    assert calls_of(*chunks) == [("a", "run", '{"x": 1}'), ("b", "look", "{}")]
    assert heard == [
        Calling(0, "run", ""), Calling(0, "run", '{"x"'), Calling(1, "look", "{}"), Calling(0, "run", ": 1}"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("chunks", "calls"),
    [
        pytest.param([called(0, "{", "run", "a"), called(0, "}", "run", "a")], [("a", "run", "{}")], id="repeated"),
        pytest.param([called(0, "{"), called(0, "}", "run", "a")], [("a", "run", "{}")], id="late"),
        pytest.param([called(0, "{", "ru", "a"), called(0, "}", "n")], [("a", "run", "{}")], id="a name in pieces"),
        pytest.param(
            [called(0, "{", "ru", "a"), called(0, "}", "run")], [("a", "run", "{}")], id="a name that grows"
        ),
        pytest.param(
            [called(0, "1", "run", "a"), called(0, "2", "look", "b")],
            [("a", "run", "1"), ("b", "look", "2")],
            id="one index for all",
        ),
        pytest.param(
            [called(None, "1", "run", "a"), called(None, "2"), called(None, "3", "run", "b")],
            [("a", "run", "12"), ("b", "run", "3")],
            id="no index",
        ),
        pytest.param([called(0, '{"x": ', "run", "a")], [("a", "run", '{"x": ')], id="arguments that are cut"),
        pytest.param([called(3, "1", "run")], [("call_0_0", "run", "1")], id="no id"),
    ],
)
def test_the_dialects_of_tool_calls_are_understood(
    chunks: list[dict[str, Any]], calls: list[tuple[str, str, str]]
) -> None:
    assert calls_of(*chunks) == calls


def test_only_the_first_choice_counts() -> None:
    other = {"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": "length"}]}
    assert reply_of(said("yes"), other, END, DONE).message.content == "yes"


def test_text_in_parts_empty_chunks_and_a_missing_done_are_no_trouble() -> None:
    parts = said([{"type": "text", "text": "4"}, {"type": "text", "text": "2"}])
    odd = {"choices": [{"delta": {"content": 7, "refusal": 7}}]}
    assert reply_of({}, odd, {"choices": None}, {"choices": [{}]}, parts, END).message.content == "42"


def test_a_refusal_is_a_refusal() -> None:
    refusal = {"choices": [{"index": 0, "delta": {"refusal": "I won't."}}]}
    assert failure_of(refusal, END, DONE).problem.code == "model_refused"


@pytest.mark.parametrize(
    ("chunks", "code"),
    [
        ([said("4")], "model_unreachable"),
        ([said("4"), DONE], "model_unreachable"),
        ([], "model_unreachable"),
        ([said("4"), '{"choices": ['], "model_malformed_reply"),
        ([said("4"), "[1]"], "model_malformed_reply"),
        ([{"choices": [1]}], "model_malformed_reply"),
        ([said("4"), {"choices": [{"delta": {"tool_calls": ["x"]}}]}], "model_malformed_reply"),
        ([said("4"), {"error": {"message": "full", "type": "server_error"}}], "model_overloaded"),
        ([said("4"), {"error": {"code": 429, "message": "slow down"}}], "model_rate_limited"),
    ],
)
def test_a_stream_that_breaks_is_asked_for_again(chunks: list[Any], code: str) -> None:
    failure = failure_of(*chunks)
    assert (failure.problem.code, failure.retries) == (code, ALWAYS)


def test_a_transcript_that_is_too_long_is_told_by_an_event_too() -> None:
    error = {"error": {"code": "context_length_exceeded", "message": "too long"}}
    failure = failure_of(error)
    assert (failure.problem.code, failure.retries) == ("model_context_exceeded", 0)


def test_whatever_comes_after_the_end_is_not_read() -> None:
    assert reply_of(said("42"), END, DONE, "not json").message.content == "42"
