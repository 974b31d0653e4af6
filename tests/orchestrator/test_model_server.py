"""The model server of the tests against the official SDK: a fake is worth what it refuses."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from pydantic import SecretStr
from tests.model_answers import MODEL, Completion, plays
from tests.model_server import KEY, ModelServer
from tests.openai_rules import why_refused

from skillfleet.llm.anthropic import anthropic_model
from skillfleet.llm.base import ModelReply, ModelRequest
from skillfleet.llm.openai import openai_model
from skillfleet.llm.prompts import opening
from skillfleet.llm.provider import ProviderModel
from skillfleet.llm.scripted import ScriptedModel

SYSTEM = {"role": "system", "content": "s"}
USER = {"role": "user", "content": "u"}
CALL = {"id": "c1", "type": "function", "function": {"name": "x", "arguments": "{}"}}
CALLS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": ""}
SCRIPT = {
    "replies": [
        {"calls": [{"tool": "run", "arguments": {"script": "print(6*7)"}, "as": "a"}]},
        {"text": "It is ${a.stdout}."},
    ]
}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    completion = Completion("Looking around.", calls=(("c1", "run", '{"script": "print(6*7)"}'), ("c2", "x", "")))
    with ModelServer(lambda request: completion) as running:
        yield running


def sdk(server: ModelServer) -> openai.OpenAI:
    return openai.OpenAI(api_key=KEY, base_url=server.base_url, max_retries=0)


def anthropic_sdk(server: ModelServer) -> anthropic.Anthropic:
    return anthropic.Anthropic(api_key=KEY, base_url=server.base_url.removesuffix("/v1"), max_retries=0)


def test_a_stream_carries_the_same_completion_in_pieces(server: ModelServer) -> None:
    text, arguments, reason = "", {0: "", 1: ""}, None
    chunks = sdk(server).chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": "u"}], stream=True
    )
    for chunk in chunks:
        for choice in chunk.choices:
            text += choice.delta.content or ""
            reason = choice.finish_reason or reason
            for call in choice.delta.tool_calls or ():
                arguments[call.index] += (call.function and call.function.arguments) or ""
    assert (text, reason) == ("Looking around.", "tool_calls")
    assert arguments == {0: '{"script": "print(6*7)"}', 1: ""}


def test_a_stream_of_anthropics_carries_the_same_completion_in_pieces(server: ModelServer) -> None:
    message = {"role": "user", "content": "u"}
    with anthropic_sdk(server).messages.stream(model=MODEL, max_tokens=9, messages=[message]) as stream:  # type: ignore[list-item]
        kinds = {event.type for event in stream}
        said = stream.get_final_message()
    text, run, other = said.content
    assert (text.type, run.type, other.type) == ("text", "tool_use", "tool_use")
    assert text.type == "text" and text.text == "Looking around."
    assert run.type == "tool_use" and run.input == {"script": "print(6*7)"}
    assert (said.stop_reason, said.usage.output_tokens) == ("tool_use", 5)
    assert {"message_start", "content_block_start", "content_block_delta", "message_delta", "message_stop"} <= kinds


def test_the_models_are_listed(server: ModelServer) -> None:
    assert [model.id for model in sdk(server).models.list()] == [MODEL]


def test_a_wrong_key_and_a_wrong_page_are_refused(server: ModelServer) -> None:
    with pytest.raises(openai.AuthenticationError):
        sdk(server).with_options(api_key="sk-wrong").models.list()
    with pytest.raises(openai.NotFoundError):
        sdk(server).embeddings.create(model=MODEL, input="x")
    with pytest.raises(anthropic.AuthenticationError):
        anthropic_sdk(server).with_options(api_key="sk-wrong").messages.create(
            model=MODEL, max_tokens=9, messages=[{"role": "user", "content": "u"}]
        )


@pytest.mark.parametrize(
    "messages", [[SYSTEM, USER], [USER, CALLS, RESULT], [USER, CALLS, RESULT, CALLS, RESULT, USER]]
)
def test_a_valid_transcript_is_accepted(messages: list[Any]) -> None:
    tool = {"type": "function", "function": {"name": "x", "parameters": {"type": "object"}}}
    assert why_refused({"model": MODEL, "messages": messages, "tools": [tool]}) is None


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{"role": "robot", "content": "x"}],
        [{"role": "user", "content": None}],
        [{"role": "assistant", "content": None}],
        [{"role": "assistant", "content": "x", "tool_calls": []}],
        [USER | {"tool_call_id": "c1"}],
        [USER, RESULT],
        [USER, CALLS],
        [USER, CALLS, USER],
        [USER, CALLS, USER, RESULT],
        [USER, CALLS, RESULT, RESULT],
        [USER, CALLS | {"tool_calls": [CALL, CALL]}, RESULT, RESULT],
        [USER, CALLS | {"tool_calls": [CALL, CALL | {"id": "c2"}]}, RESULT],
        [USER, CALLS | {"tool_calls": [CALL | {"function": {"name": "a b", "arguments": ""}}]}, RESULT],
        [USER, CALLS | {"tool_calls": [CALL | {"function": {"name": "x", "arguments": {}}}]}, RESULT],
    ],
)
def test_an_invalid_transcript_is_refused(server: ModelServer, messages: list[Any]) -> None:
    with pytest.raises(openai.BadRequestError):
        sdk(server).chat.completions.create(model=MODEL, messages=messages)
    assert server.received[-1].status == 400


@pytest.mark.parametrize("tools", [[], [{"type": "function", "function": {"name": "a b"}}], [{"name": "x"}]])
def test_invalid_tools_are_refused(tools: list[Any]) -> None:
    assert why_refused({"model": MODEL, "messages": [USER], "tools": tools})


def converse(model: ProviderModel) -> tuple[Any, ...]:
    """What the model says, as long as it calls tools that bring 42."""
    messages, said = opening("go"), []
    while True:
        outcome = model.reply(ModelRequest(messages, (), 30))
        assert isinstance(outcome, ModelReply), outcome
        said.append(outcome.message)
        if not outcome.message.tool_calls:
            return tuple(said)
        messages += (outcome.message,)
        for call in outcome.message.tool_calls:
            wire = {"role": "tool", "tool_call_id": call.id, "content": json.dumps({"stdout": "42\n"})}
            messages += (type(outcome.message).model_validate(wire),)


@pytest.mark.parametrize("adapter", [openai_model, anthropic_model])
def test_a_script_is_played_over_the_wire(adapter: Callable[..., ProviderModel]) -> None:
    with ModelServer(plays(ScriptedModel.of(SCRIPT))) as server:
        said = converse(adapter(SecretStr(KEY), server.base_url, MODEL))
    assert [message.content for message in said] == [None, "It is 42."]


def test_it_runs_on_its_own(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text(json.dumps(SCRIPT))
    command = [sys.executable, "-m", "tests.model_server", "--script", str(path), "--delay", "0.01"]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            said = converse(openai_model(SecretStr("any key"), address, MODEL))
        finally:
            process.terminate()
    assert said[-1].content == "It is 42."
