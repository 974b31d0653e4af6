"""A chat completion, as providers really send it, read into a ModelReply (pure)."""

import json
import re
from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ..conversations.limits import Usage
from ..conversations.messages import FunctionCall, Message, ToolCall
from .base import ModelReply
from .failures import NEVER, Failure, malformed, of_status, refused


def text_of(value: Any) -> Any:
    """Some providers send content as parts, arguments as an object, and half a surrogate pair in either."""
    if isinstance(value, list):
        value = "".join(part["text"] for part in value if isinstance(part, dict) and "text" in part)
    if isinstance(value, dict):
        value = json.dumps(value, ensure_ascii=False)
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(text_of)]


class _Sent(BaseModel):
    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)


class _Function(_Sent):
    name: Text = Field(min_length=1)
    arguments: Text | None = None


class _Call(_Sent):
    id: Text | None = None
    function: _Function


class _Message(_Sent):
    content: Text | None = None
    refusal: Text | None = None
    tool_calls: list[_Call] | None = None


class _Choice(_Sent):
    message: _Message
    finish_reason: str | None = None


class _Completion(_Sent):
    choices: list[_Choice] = Field(min_length=1)
    usage: Any = None


def read_reply(body: bytes, messages: tuple[Message, ...]) -> ModelReply | Failure:
    """`messages`: the transcript that is being answered; the reply's call ids are new in it."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return malformed(f"it is not JSON: {body[:80].decode('utf-8', 'replace')!r}")
    if isinstance(document, dict) and document.get("error") and not document.get("choices"):
        return error_in_body(document["error"], body)
    return read_document(document, messages)


def read_document(document: object, messages: tuple[Message, ...]) -> ModelReply | Failure:
    """Of a completion that was parsed, or folded from a stream."""
    try:
        completion = _Completion.model_validate(document)
    except ValidationError as wrong:
        first = wrong.errors(include_url=False, include_input=False, include_context=False)[0]
        return malformed(f"{'.'.join(map(str, first['loc'])) or 'body'}: {first['msg']}")
    return _reply(completion.choices[0], _usage(completion.usage), messages)


def _reply(choice: _Choice, usage: Usage, messages: tuple[Message, ...]) -> ModelReply | Failure:
    sent = choice.message
    if sent.tool_calls:
        calls = _calls(sent.tool_calls, messages)
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


def _calls(sent: list[_Call], messages: tuple[Message, ...]) -> tuple[ToolCall, ...]:
    """Name and arguments as they came. An id that is missing or taken would make the transcript invalid."""
    taken = {call.id for message in messages for call in message.tool_calls or ()}
    turn = sum(message.role == "assistant" for message in messages)
    calls = []
    for index, call in enumerate(sent):
        call_id = call.id if call.id and call.id not in taken else _free_id(f"call_{turn}_{index}", taken)
        taken.add(call_id)
        function = FunctionCall(name=call.function.name, arguments=call.function.arguments or "")
        calls.append(ToolCall(id=call_id, function=function))
    return tuple(calls)


def _free_id(wanted: str, taken: Iterable[str]) -> str:
    while wanted in taken:
        wanted += "_"
    return wanted


def _usage(sent: object) -> Usage:
    counts = sent if isinstance(sent, dict) else {}
    details = counts.get("prompt_tokens_details")
    return Usage(
        input_tokens=_count(counts, "prompt_tokens"),
        output_tokens=_count(counts, "completion_tokens"),
        cached_input_tokens=_count(details if isinstance(details, dict) else {}, "cached_tokens"),
    )


def _count(counts: dict[str, Any], name: str) -> int:
    value = counts.get(name)
    return value if isinstance(value, int) else 0


def error_in_body(error: object, body: bytes) -> Failure:
    """Gateways answer 200 and put the status that they got into the body; so do streams that have begun."""
    code = str(error.get("code")) if isinstance(error, dict) else ""
    status = int(code) if re.fullmatch(r"[45]\d\d", code) else 502
    return of_status(status, body, {}, now=0.0)
