"""What a model provider in a test can answer, in OpenAI's wire format (pure)."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from skillfleet.conversations.limits import Problem
from skillfleet.conversations.messages import Message
from skillfleet.llm.base import ModelRequest
from skillfleet.llm.scripted import ScriptedModel

MODEL = "test-model"
STREAM_PIECE_CHARS = 7
BLANK_EVERY_S = 0.05


@dataclass(frozen=True, slots=True)
class Completion:
    """A good reply. `calls`: (id, name, arguments text); `message`: fields that override the message's;
    `blanks`: spaces that the body starts with, BLANK_EVERY_S apart, while the model thinks."""

    text: str | None = None
    calls: tuple[tuple[str, str, str], ...] = ()
    delay_s: float = 0.0
    blanks: int = 0
    finish_reason: str | None = None
    usage: tuple[int, int] = (10, 5)
    message: Mapping[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": self.text}
        if self.calls:
            message["tool_calls"] = [
                {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
                for call_id, name, arguments in self.calls
            ]
        reason = self.finish_reason or ("tool_calls" if self.calls else "stop")
        given, said = self.usage
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 0,
            "model": MODEL,
            "choices": [{"index": 0, "message": message | dict(self.message), "finish_reason": reason}],
            "usage": {"prompt_tokens": given, "completion_tokens": said, "total_tokens": given + said},
        }


@dataclass(frozen=True, slots=True)
class Raw:
    """These bytes as the body. `missing`: how many more bytes are promised than come before the cut."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    missing: int = 0


@dataclass(frozen=True, slots=True)
class Hang:
    """Never answers."""


Answer = Completion | Raw | Hang
Answers = Sequence[Answer] | Callable[[dict[str, Any]], Answer]


def failure(status: int, message: str = "no", code: str | None = None, **headers: str) -> Raw:
    """OpenAI's error shape; header names are written with underscores."""
    error = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Raw(json.dumps(error).encode(), status, named)


def plays(model: ScriptedModel) -> Callable[[dict[str, Any]], Answer]:
    """A written script as a provider; what the script can't do is a 400."""

    def answer(request: dict[str, Any]) -> Answer:
        messages = tuple(Message.model_validate(message) for message in request["messages"])
        reply = model.reply(ModelRequest(messages, (), float("inf")))
        if isinstance(reply, Problem):
            return failure(400, f"{reply.code}: {reply.message}", reply.code)
        calls = reply.message.tool_calls or ()
        wire = tuple((call.id, call.function.name, call.function.arguments) for call in calls)
        given = sum(len((message.content or "").split()) for message in messages)
        said = len((reply.message.content or "").split())
        return Completion(reply.message.content, wire, usage=(given, said))

    return answer


def events(document: dict[str, Any]) -> Iterator[bytes]:
    """The same completion as server-sent events; texts and arguments come in pieces."""
    choice = document["choices"][0]
    message = choice["message"]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": None}]
    deltas += [{"content": piece} for piece in _pieces(message["content"] or "")]
    for index, call in enumerate(message.get("tool_calls", ())):
        named = call["function"] | {"arguments": ""}
        deltas.append({"tool_calls": [call | {"index": index, "function": named}]})
        for piece in _pieces(call["function"]["arguments"]):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    frame = {key: document[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    for delta in deltas:
        yield _event(frame | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield _event(frame | {"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    yield _event(frame | {"choices": [], "usage": document["usage"]})
    yield b"data: [DONE]\n\n"


def _event(document: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(document).encode() + b"\n\n"


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), STREAM_PIECE_CHARS):
        yield text[start : start + STREAM_PIECE_CHARS]
