"""anthropic_model: what only Anthropic's format has, in what it sends and in what it understands."""

import json
import subprocess
import sys
from typing import Any

import pytest
from pydantic import SecretStr
from tests.model_answers import MODEL, Completion, Raw
from tests.model_server import KEY, ModelServer
from tests.orchestrator.asking import ASKED, TOOLS

from skillfleet.conversations.limits import Problem, Usage
from skillfleet.conversations.messages import FunctionCall, Message, ToolCall
from skillfleet.llm.anthropic import anthropic_model
from skillfleet.llm.anthropic_request import body_of
from skillfleet.llm.anthropic_stream import read_stream
from skillfleet.llm.base import ModelReply, ModelRequest, Piece, Said
from skillfleet.llm.failures import Failure


def body(*messages: Message) -> dict[str, Any]:
    return body_of(ModelRequest(messages, TOOLS), stream=False, max_output_tokens=8192)


def turn(*calls: tuple[str, str], content: str = "ok") -> tuple[Message, ...]:
    """A turn whose calls have these ids and names, and what they brought."""
    asked = tuple(ToolCall(id=call_id, function=FunctionCall(name=name, arguments="")) for call_id, name in calls)
    results = (Message(role="tool", tool_call_id=call_id, content=content) for call_id, _ in calls)
    return (Message(role="assistant", tool_calls=asked), *results)


def marked(value: Any) -> list[dict[str, Any]]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = [value] if isinstance(value, dict) and "cache_control" in value else []
    return own + [found for each in inner for found in marked(each)]


def streamed(*events: Any) -> tuple[ModelReply | Failure, list[Piece]]:
    heard: list[Piece] = []
    return read_stream((("", json.dumps(event)) for event in events), ASKED, heard.append), heard


def begin(block: dict[str, Any], index: int = 0) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int = 0, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": fields}


def end(reason: str) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 3}}


def test_what_calls_brought_is_one_message_with_what_the_user_says_next() -> None:
    messages = body(*ASKED, *turn(("a", "x"), ("b", "x")), Message(role="user", content="Go on."))["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert [block["type"] for block in messages[2]["content"]] == ["tool_result", "tool_result", "text"]


@pytest.mark.parametrize(
    ("shown", "failed"),
    [
        ('{"error": "unknown_skill", "message": "m", "fix": "f"}', True),
        ('{"status": "timed_out", "returncode": null}', True),
        ('{"status": "succeeded", "returncode": 0, "stdout": "{\\"error\\": 1}"}', False),
        ('{"status": "open"}', False),
        ("error", False),
        ("", False),
    ],
)
def test_what_failed_is_marked_as_an_error(shown: str, failed: bool) -> None:
    (result,) = body(*ASKED, *turn(("a", "x"), content=shown))["messages"][2]["content"]
    assert (result["content"], result.get("is_error", False)) == (shown, failed)


def test_foreign_ids_and_names_become_ones_that_are_allowed_and_stay_apart() -> None:
    _, said, brought = body(*ASKED, *turn(("é|1", "a b"), ("é|2", "a.b")))["messages"]
    ids = [block["id"] for block in said["content"]]
    assert [block["name"] for block in said["content"]] == ["a_b", "a_b"]
    assert [block["tool_use_id"] for block in brought["content"]] == ids
    assert len(set(ids)) == 2 and all(call_id.replace("_", "").isalnum() and call_id.isascii() for call_id in ids)


def test_the_tools_the_system_prompt_and_the_last_two_messages_of_the_users_may_be_cached() -> None:
    sent = body(*ASKED, *turn(("a", "x")), *turn(("b", "x"), ("c", "x")))
    assert marked(sent) == [
        sent["messages"][2]["content"][0],
        sent["messages"][4]["content"][1],
        sent["system"][0],
        sent["tools"][0],
    ]


def test_what_was_written_to_a_cache_is_counted_as_input_too() -> None:
    with ModelServer([Completion("42", usage=(120, 7), cached=(100, 15))]) as server:
        reply = anthropic_model(SecretStr(KEY), server.base_url, MODEL).reply(ModelRequest(ASKED, TOOLS))
    assert isinstance(reply, ModelReply)
    assert reply.usage == Usage(input_tokens=120, output_tokens=7, cached_input_tokens=100, cache_write_tokens=15)


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("pause_turn", "model_malformed_reply"),
        ("model_context_window_exceeded", "model_context_exceeded"),
        ("max_tokens", "model_malformed_reply"),
        ("refusal", "model_refused"),
    ],
)
def test_every_reason_to_stop_without_a_word_is_told(reason: str, code: str) -> None:
    outcome, heard = streamed(end(reason), {"type": "message_stop"})
    assert isinstance(outcome, Failure)
    assert (outcome.problem.code, outcome.retries, heard) == (code, 0, [])


def test_a_refusal_after_half_a_text_is_a_refusal() -> None:
    outcome, heard = streamed(begin({"type": "text", "text": "Well, "}), end("refusal"))
    assert isinstance(outcome, Failure)
    assert (outcome.problem.code, heard) == ("model_refused", [Said("Well, ")])


def test_a_text_that_filled_the_window_is_kept() -> None:
    outcome, _ = streamed(begin({"type": "text", "text": "It is 4"}), end("model_context_window_exceeded"))
    assert isinstance(outcome, ModelReply)
    assert outcome.message.content == "It is 4"


def test_events_blocks_and_deltas_that_nobody_knows_yet_are_passed_over() -> None:
    outcome, heard = streamed(
        {"type": "news"},
        begin({"type": "hologram", "depth": 3}),
        delta(type="hologram_delta", more=1),
        begin({"type": "text", "text": ""}, 1),
        delta(1, type="text_delta", text="4"),
        delta(1, type="citations_delta", citation={}),
        delta(1, type="text_delta", text="2"),
        {"type": "content_block_stop", "index": 1},
        end("end_turn"),
        {"type": "message_stop"},
        {"type": "error", "error": {"type": "api_error"}},
    )
    assert isinstance(outcome, ModelReply)
    assert (outcome.message.content, heard) == ("42", [Said("4"), Said("2")])


@pytest.mark.parametrize(
    "event",
    [
        [],
        "x",
        {},
        {"type": "content_block_start"},
        {"type": "content_block_delta", "index": 7, "delta": {"type": "text_delta", "text": "x"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use"}},
        {"type": "message_delta", "delta": 3},
    ],
)
def test_an_event_that_is_none_is_asked_for_again(event: Any) -> None:
    outcome, _ = streamed(event, end("end_turn"))
    assert isinstance(outcome, Failure)
    assert outcome.problem.code == "model_malformed_reply" and outcome.retries > 1


@pytest.mark.parametrize(
    "sent",
    [
        b'"a string"',
        b"{}",
        b'{"content": "text"}',
        b'{"content": [{"type": "tool_use", "id": "a", "name": ""}]}',
        b'{"content": [{"type": "text", "text": " "}]}',
        b"[" * 100_000,
    ],
)
def test_a_reply_that_stays_malformed_is_a_problem_after_one_more_try(sent: bytes) -> None:
    with ModelServer([Raw(sent), Raw(sent)]) as server:
        model = anthropic_model(SecretStr(KEY), server.base_url, MODEL, backoff_s=0.001)
        outcome = model.reply(ModelRequest(ASKED, TOOLS, 30))
    assert isinstance(outcome, Problem)
    assert (outcome.code, len(server.received)) == ("model_malformed_reply", 2)


def test_the_address_may_end_in_the_version_or_not() -> None:
    with ModelServer(lambda request: Completion("42")) as server:
        for address in (server.base_url, f"{server.base_url}/", server.base_url.removesuffix("/v1")):
            reply = anthropic_model(SecretStr(KEY), address, MODEL).reply(ModelRequest(ASKED, TOOLS, 30))
            assert isinstance(reply, ModelReply), reply


def test_the_sdk_is_imported_with_the_first_reply_and_not_before() -> None:
    script = """
import sys
from pydantic import SecretStr
from skillfleet.llm.anthropic import anthropic_model
from skillfleet.llm.base import ModelRequest
from skillfleet.llm.prompts import opening
model = anthropic_model(SecretStr("sk-x"), "http://127.0.0.1:9/v1", "m")
assert "anthropic" not in sys.modules
model.reply(ModelRequest(opening("Hello?"), (), 0.5))
assert "anthropic" in sys.modules
assert "openai" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
