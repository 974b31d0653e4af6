"""What the replies of both wire formats have in common (pure)."""

import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from ..conversations.messages import FunctionCall, Message, ToolCall
from .failures import Failure, malformed

MOST_TOKENS = 1_000_000_000
"""Of one reply: far more than any has, and few enough to be added up and stored."""

MOST_CALLS = 1_000
"""Of one reply."""


def text_of(value: Any) -> Any:
    """Some providers send content as parts, arguments as an object, and half a surrogate pair in either."""
    if isinstance(value, list):
        texts = (part.get("text") for part in value if isinstance(part, dict))
        value = "".join(text for text in texts if isinstance(text, str))
    if isinstance(value, dict):
        value = json.dumps(value, ensure_ascii=False)
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(text_of)]


class Sent(BaseModel):
    """A part of a reply."""

    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)


def calls_of(sent: Iterable[tuple[str | None, str, str]], messages: tuple[Message, ...]) -> tuple[ToolCall, ...]:
    """Of id, name and arguments, the latter two as they came. An id that is missing or taken in the transcript
    (`messages`) would make it invalid."""
    taken = {call.id for message in messages for call in message.tool_calls or ()}
    turn = sum(message.role == "assistant" for message in messages)
    calls = []
    for index, (wanted, name, arguments) in enumerate(sent):
        call_id = wanted if wanted and wanted not in taken else _free_id(f"call_{turn}_{index}", taken)
        taken.add(call_id)
        calls.append(ToolCall(id=call_id, function=FunctionCall(name=name, arguments=arguments)))
    return tuple(calls)


def _free_id(wanted: str, taken: Iterable[str]) -> str:
    while wanted in taken:
        wanted += "_"
    return wanted


def count(counts: Mapping[str, Any], name: str) -> int:
    """0 where it is none that a provider can mean."""
    value = counts.get(name)
    return value if isinstance(value, int) and 0 <= value <= MOST_TOKENS else 0


def too_many_calls() -> Failure:
    return malformed(f"it makes more than {MOST_CALLS} tool calls")


def parsed(body: bytes) -> object:
    """The document; a Failure: it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return malformed(f"it is not JSON: {body[:80].decode('utf-8', 'replace')!r}")


def misshapen(wrong: ValidationError) -> Failure:
    first = wrong.errors(include_url=False, include_input=False, include_context=False)[0]
    return malformed(f"{'.'.join(map(str, first['loc'])) or 'body'}: {first['msg']}")
