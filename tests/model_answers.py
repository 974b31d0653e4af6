"""What a model provider in a test can answer, in either wire format (pure)."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.model_requests import told

from skillfleet.conversations.limits import Problem
from skillfleet.llm.base import ModelRequest
from skillfleet.llm.scripted import ScriptedModel

MODEL = "test-model"
BLANK_EVERY_S = 0.05

HowItBreaks = Literal["reset", "cut", "end", "half", "garbage", "error", "hang"]


@dataclass(frozen=True, slots=True)
class Break:
    """What goes wrong in the middle of a reply, once `after` pieces of its text and arguments are out: the connection
    is reset, or closed; the stream ends as if it were whole; ends within an event; goes on with what is no JSON;
    tells of an error; stays silent. Of a reply that is not streamed, half is sent (`error`: the error alone)."""

    how: HowItBreaks
    after: int = 1


@dataclass(frozen=True, slots=True)
class Gate:
    """Holds a reply back once `after` pieces are out, until it is opened."""

    after: int = 1
    opened: threading.Event = field(default_factory=threading.Event)

    def open(self) -> None:
        self.opened.set()


@dataclass(frozen=True, slots=True)
class Completion:
    """A good reply. `calls`: (id, name, arguments text); `usage`: tokens in and out; `cached`: those of the input
    that were read from, and written to, a cache; `finish_reason`: in OpenAI's words; `message`: fields that override
    the message's; `blanks`: signs of life that the reply starts with, BLANK_EVERY_S apart, while the model thinks;
    `pace_s`: between two pieces of a stream."""

    text: str | None = None
    calls: tuple[tuple[str, str, str], ...] = ()
    delay_s: float = 0.0
    blanks: int = 0
    finish_reason: str | None = None
    usage: tuple[int, int] = (10, 5)
    message: Mapping[str, Any] = field(default_factory=dict)
    cached: tuple[int, int] = (0, 0)
    refusal: str | None = None
    thinking: str = ""
    pace_s: float = 0.0
    gate: Gate | None = None
    breaks: Break | None = None

    def document(self) -> dict[str, Any]:
        """Of a chat completion."""
        message: dict[str, Any] = {"role": "assistant", "content": self.text, "refusal": self.refusal}
        if self.thinking:
            message["reasoning_content"] = self.thinking
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
            "usage": {
                "prompt_tokens": given,
                "completion_tokens": said,
                "total_tokens": given + said,
                "prompt_tokens_details": {"cached_tokens": self.cached[0]},
            },
        }


@dataclass(frozen=True, slots=True)
class Raw:
    """These bytes as the body. `missing`: how many more bytes are promised than come before the cut."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    missing: int = 0


@dataclass(frozen=True, slots=True)
class Failed:
    """An error of the provider's, in the shape of the format that is spoken."""

    status: int
    message: str = "no"
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TooLong:
    """The transcript does not fit the model's window, said in each provider's own words."""

    tokens: int = 210_000


@dataclass(frozen=True, slots=True)
class Hang:
    """Never answers."""


@dataclass(frozen=True, slots=True)
class Reset:
    """The connection is reset before anything is answered."""


Answer = Completion | Raw | Failed | TooLong | Hang | Reset
Answers = Sequence[Answer] | Callable[[dict[str, Any]], Answer]


def failure(status: int, message: str = "no", code: str | None = None, **headers: str) -> Failed:
    """Header names are written with underscores."""
    return Failed(status, message, code, {name.replace("_", "-"): value for name, value in headers.items()})


def plays(model: ScriptedModel) -> Callable[[dict[str, Any]], Answer]:
    """A written script as a provider; what the script can't do is a 400."""

    def answer(request: dict[str, Any]) -> Answer:
        messages = told(request)
        reply = model.reply(ModelRequest(messages, (), float("inf")))
        if isinstance(reply, Problem):
            return failure(400, f"{reply.code}: {reply.message}", reply.code)
        calls = reply.message.tool_calls or ()
        wire = tuple((call.id, call.function.name, call.function.arguments) for call in calls)
        given = sum(len((message.content or "").split()) for message in messages)
        said = len((reply.message.content or "").split())
        return Completion(reply.message.content, wire, usage=(given, said))

    return answer
