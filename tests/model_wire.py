"""The two wire formats of a model server, and how a stream of either goes wrong (pure)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests import anthropic_wire, openai_wire
from tests.anthropic_rules import why_refused as why_anthropic_refuses
from tests.model_answers import Break, Completion, Failed, Gate, Raw, TooLong
from tests.model_events import Event
from tests.openai_rules import why_refused as why_openai_refuses


@dataclass(frozen=True, slots=True)
class WireFormat:
    """`key_headers`: where the key may stand; `blank`: an event that says nothing; `why_refused`: of the request's
    headers and body."""

    key_headers: tuple[str, ...]
    blank: bytes
    document: Callable[[Completion], dict[str, Any]]
    events: Callable[[Completion, dict[str, Any]], Iterator[Event]]
    failed: Callable[[Failed], Raw]
    too_long: Callable[[TooLong], Failed]
    error_event: Callable[[Failed], bytes]
    why_refused: Callable[[dict[str, str], dict[str, Any]], str | None]


FORMATS = {
    "/v1/chat/completions": WireFormat(
        ("authorization",),
        b": thinking\n\n",
        Completion.document,
        openai_wire.events,
        openai_wire.failed,
        openai_wire.too_long,
        openai_wire.error_event,
        lambda headers, body: why_openai_refuses(body),
    ),
    "/v1/messages": WireFormat(
        ("authorization", "x-api-key"),
        anthropic_wire.PING,
        anthropic_wire.document,
        anthropic_wire.events,
        anthropic_wire.failed,
        anthropic_wire.too_long,
        anthropic_wire.error_event,
        why_anthropic_refuses,
    ),
}

OPENAI = FORMATS["/v1/chat/completions"]
OVERLOADED = Failed(529, "Overloaded", "overloaded_error")
GARBAGE = b"data: {this is no JSON\n\n"


def streamed(
    wire: WireFormat, completion: Completion, request: dict[str, Any]
) -> Iterator[bytes | float | Gate | Break]:
    """What to send, for how long to wait (seconds), what to wait for, and at last, perhaps, how to end."""
    out, gate, breaks = 0, completion.gate, completion.breaks
    for event in wire.events(completion, request):
        if gate and gate.after == out:
            yield gate
            gate = None
        if breaks and breaks.after == out:
            yield from _broken(wire, breaks, event.sent)
            return
        if event.is_piece and out and completion.pace_s:
            yield completion.pace_s
        out += event.is_piece
        yield event.sent


def _broken(wire: WireFormat, breaks: Break, following: bytes) -> Iterator[bytes | Break]:
    match breaks.how:
        case "half":
            yield following[: len(following) // 2]
        case "garbage":
            yield GARBAGE
        case "error":
            yield wire.error_event(OVERLOADED)
    yield breaks
