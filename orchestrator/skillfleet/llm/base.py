"""The port to a language model: one reply for one transcript."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..conversations.limits import Divergence, Problem, Usage
from ..conversations.messages import Message, ToolDefinition


@dataclass(frozen=True, slots=True)
class Said:
    """More of the reply's text."""

    text: str


@dataclass(frozen=True, slots=True)
class Calling:
    """More of a tool call's arguments; `index`: its place in the turn."""

    index: int
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Again:
    """The stream broke: what was heard of this reply counts no more, and the model is asked anew."""


Piece = Said | Calling | Again
Hear = Callable[[Piece], None]
"""Is told of a reply while it comes. It does not wait, and does not raise."""


def deaf(piece: Piece) -> None:
    """Nobody listens."""


def no_files(digest: str) -> bytes | None:
    """There are none."""
    return None


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What a model is asked. `timeout_s`: for all retries together, seconds. `may_call` False: it has to answer now;
    the tools are there because the transcript names them. `schema`: the JSON Schema that the answer has to fit.
    `max_output_tokens` None: the adapter's own. `file`: the bytes of an attachment by its digest, None: they are
    gone. `plain`: only what every server of the wire format knows, however old."""

    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] = ()
    timeout_s: float = 600.0
    may_call: bool = True
    schema: dict[str, Any] | None = None
    max_output_tokens: int | None = None
    file: Callable[[str], bytes | None] = no_files
    plain: bool = False


@dataclass(frozen=True, slots=True)
class ModelReply:
    """An assistant message, as the provider sent it, and what it cost. `divergences`: of a replay, which see.
    `problem`: the message calls nothing, and is what there is of an answer although that has failed."""

    message: Message
    usage: Usage = field(default_factory=Usage)
    divergences: tuple[Divergence, ...] = ()
    problem: Problem | None = None


class LanguageModel(Protocol):
    def reply(self, request: ModelRequest, hear: Hear = deaf) -> ModelReply | Problem:
        """The model's next message, or why there is none after all retries; never longer than the timeout.

        A refusal, an outage and a malformed answer are values: the conversation ends with them.
        """
        ...
