"""A chat completion, as providers really send it, read into a ModelReply (pure)."""

import re
from typing import Any

from pydantic import Field, ValidationError

from ..conversations.limits import Usage
from ..conversations.messages import Message
from .base import ModelReply
from .failures import NEVER, Failure, malformed, of_status, refused
from .replies import MOST_CALLS, Sent, Text, calls_of, count, misshapen, parsed, too_many_calls


class _Function(Sent):
    name: Text = Field(min_length=1)
    arguments: Text | None = None


class _Call(Sent):
    id: Text | None = None
    function: _Function


class _Message(Sent):
    content: Text | None = None
    refusal: Text | None = None
    tool_calls: list[_Call] | None = None


class _Choice(Sent):
    message: _Message
    finish_reason: str | None = None


class _Completion(Sent):
    choices: list[_Choice] = Field(min_length=1)
    usage: Any = None


def read_reply(body: bytes, messages: tuple[Message, ...]) -> ModelReply | Failure:
    """`messages`: the transcript that is being answered; the reply's call ids are new in it."""
    document = parsed(body)
    if isinstance(document, Failure):
        return document
    if isinstance(document, dict) and document.get("error") and not document.get("choices"):
        return error_in_body(document["error"], body)
    return read_document(document, messages)


def read_document(document: object, messages: tuple[Message, ...]) -> ModelReply | Failure:
    """Of a completion that was parsed, or folded from a stream."""
    try:
        completion = _Completion.model_validate(document)
    except ValidationError as wrong:
        return misshapen(wrong)
    return _reply(completion.choices[0], _usage(completion.usage), messages)


def _reply(choice: _Choice, usage: Usage, messages: tuple[Message, ...]) -> ModelReply | Failure:
    sent = choice.message
    if sent.tool_calls and len(sent.tool_calls) > MOST_CALLS:
        return too_many_calls()
    if sent.tool_calls:
        called = [(call.id, call.function.name, call.function.arguments or "") for call in sent.tool_calls]
        calls = calls_of(called, messages)
        return ModelReply(Message(role="assistant", content=sent.content or None, tool_calls=calls), usage)
    if sent.content and sent.content.strip():
        return ModelReply(Message(role="assistant", content=sent.content), usage)
    if sent.refusal:
        return refused(sent.refusal)
    if choice.finish_reason == "content_filter":
        return refused("the provider's content filter withheld the reply")
    if choice.finish_reason == "length":
        return malformed("it reached the provider's token limit before it said anything", retries=NEVER)
    return malformed("it has neither text nor tool calls")


def _usage(sent: object) -> Usage:
    counts = sent if isinstance(sent, dict) else {}
    details = counts.get("prompt_tokens_details")
    return Usage(
        input_tokens=count(counts, "prompt_tokens"),
        output_tokens=count(counts, "completion_tokens"),
        cached_input_tokens=count(details if isinstance(details, dict) else {}, "cached_tokens"),
    )


def error_in_body(error: object, body: bytes) -> Failure:
    """Gateways answer 200 and put the status that they got into the body; so do streams that have begun."""
    code = str(error.get("code")) if isinstance(error, dict) else ""
    status = int(code) if re.fullmatch(r"[45]\d\d", code) else 502
    return of_status(status, body, {}, now=0.0)
