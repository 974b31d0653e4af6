"""One of Anthropic's Messages, read into a ModelReply (pure)."""

import json
from typing import Any

from pydantic import ValidationError

from ..conversations.limits import Usage
from ..conversations.messages import Message
from .base import ModelReply
from .failures import NEVER, Failure, context_exceeded, malformed, of_status, refused
from .replies import MOST_CALLS, Sent, Text, calls_of, count, misshapen, parsed, too_many_calls

STATUS_OF_ERROR = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class _Block(Sent):
    """`input`: of a call; a text where it is, or may be, no object."""

    type: str
    text: Text = ""
    id: Text | None = None
    name: Text | None = None
    input: Any = None


class _Sent(Sent):
    content: list[_Block]
    stop_reason: str | None = None
    stop_details: Any = None
    usage: Any = None


def read_reply(body: bytes, messages: tuple[Message, ...]) -> ModelReply | Failure:
    """`messages`: the transcript that is being answered; the reply's call ids are new in it."""
    document = parsed(body)
    if isinstance(document, Failure):
        return document
    if isinstance(document, dict) and document.get("error"):
        return error_in_body(document["error"], body)
    return read_document(document, messages)


def read_document(document: object, messages: tuple[Message, ...]) -> ModelReply | Failure:
    """Of a reply that was parsed, or folded from a stream."""
    try:
        sent = _Sent.model_validate(document)
    except ValidationError as wrong:
        return misshapen(wrong)
    if sent.stop_reason == "refusal":
        return refused(_why(sent))
    if sent.stop_reason == "pause_turn":
        return malformed("it pauses for a tool of the provider's own, which nobody offered", retries=NEVER)
    text = _text(sent)
    called = [block for block in sent.content if block.type == "tool_use"]
    if len(called) > MOST_CALLS:
        return too_many_calls()
    if any(not block.name for block in called):
        return malformed("it calls a tool without a name")
    if called:
        calls = calls_of(((block.id, block.name or "", _arguments(block.input)) for block in called), messages)
        return ModelReply(Message(role="assistant", content=text or None, tool_calls=calls), _usage(sent.usage))
    if text.strip():
        return ModelReply(Message(role="assistant", content=text), _usage(sent.usage))
    return _silence(sent.stop_reason)


def _silence(stop_reason: str | None) -> Failure:
    if stop_reason == "max_tokens":
        return malformed("it reached the provider's token limit before it said anything", retries=NEVER)
    if stop_reason == "model_context_window_exceeded":
        return context_exceeded("no room was left for a reply")
    return malformed("it has neither text nor tool calls")


def _why(sent: _Sent) -> str:
    details = sent.stop_details if isinstance(sent.stop_details, dict) else {}
    return str(details.get("explanation") or _text(sent) or "the provider's classifiers withheld the reply")


def _text(sent: _Sent) -> str:
    return "".join(block.text for block in sent.content if block.type == "text")


def _arguments(sent: Any) -> str:
    text = sent if isinstance(sent, str) else json.dumps({} if sent is None else sent, ensure_ascii=False)
    return text.encode("utf-8", "replace").decode()


def _usage(sent: object) -> Usage:
    """The provider's `input_tokens` are those that no cache had to do with."""
    counts = sent if isinstance(sent, dict) else {}
    read, written = count(counts, "cache_read_input_tokens"), count(counts, "cache_creation_input_tokens")
    return Usage(
        input_tokens=count(counts, "input_tokens") + read + written,
        output_tokens=count(counts, "output_tokens"),
        cached_input_tokens=read,
        cache_write_tokens=written,
    )


def error_in_body(error: object, body: bytes) -> Failure:
    """Of a stream that had begun, or of a gateway that answers 200."""
    kind = error.get("type") if isinstance(error, dict) else None
    return of_status(STATUS_OF_ERROR.get(str(kind), 502), body, {}, now=0.0)
