"""Where the request of a replayed turn is no longer what was recorded (pure)."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from pydantic import JsonValue

from ..conversations.limits import Divergence
from ..conversations.messages import Message, ToolDefinition
from .base import ModelRequest
from .recording import Recording

MAX_A_TURN = 20
SHOWN_CHARS = 200
BEFORE_CHARS = 40
"""Of what is the same, before the first difference of two texts."""

Difference = tuple[str, JsonValue, JsonValue]
"""A place, what was there, and what is there now."""


def divergences(recording: Recording, place: int, request: ModelRequest) -> tuple[Divergence, ...]:
    """Of the turn at this place, counted from 0."""
    found = (
        *_texts("system", recording.system_prompt(place), _system(request.messages)),
        *_messages(recording.asked_with(place), request.messages, since_reply=place > 0),
        *_mappings("tools", dict(recording.turns[place].tools), dict(digests(request.tools))),
    )
    told = islice(found, MAX_A_TURN)
    return tuple(Divergence(turn=place + 1, place=where, then=then, now=now) for where, then, now in told)


def digests(tools: Iterable[ToolDefinition]) -> dict[str, str]:
    """By name, of each tool's whole definition."""
    return {tool.function.name: _digest(tool) for tool in tools}


def _digest(tool: ToolDefinition) -> str:
    text = json.dumps(tool.function.model_dump(mode="json"), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _system(messages: tuple[Message, ...]) -> str:
    return messages[0].content or "" if messages and messages[0].role == "system" else ""


def _messages(then: tuple[Message, ...], now: tuple[Message, ...], *, since_reply: bool) -> Iterator[Difference]:
    said = [at for at, message in enumerate(now) if message.role == "assistant"] if since_reply else []
    begin = said[-1] + 1 if said else 0
    new = now[begin:]
    if len(then) != len(new):
        yield "messages", _roles(then), _roles(new)
    for at, (old, one) in enumerate(zip(then, new, strict=False), start=begin):
        if old.role != one.role:
            yield f"messages[{at}].role", old.role, one.role
        elif one.role != "system":
            yield from _message(f"messages[{at}]", old, one)


def _message(place: str, then: Message, now: Message) -> Iterator[Difference]:
    old, new = _object(then), _object(now)
    if old is not None and new is not None:
        yield from _mappings(place, old, new)
    else:
        yield from _texts(f"{place}.content", then.content or "", now.content or "")
    files = [{file.name: file.digest for file in message.attachments or ()} for message in (then, now)]
    yield from _mappings(f"{place}.attachments", *files)


def _object(message: Message) -> dict[str, Any] | None:
    """What a tool brought, where it is a JSON object."""
    if message.role != "tool":
        return None
    try:
        brought = json.loads(message.content or "")
    except (ValueError, RecursionError):
        return None
    return brought if isinstance(brought, dict) else None


def _mappings(place: str, then: dict[str, Any], now: dict[str, Any]) -> Iterator[Difference]:
    for name in {**then, **now}:
        old, new = then.get(name), now.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _mappings(f"{place}.{name}", old, new)
        elif isinstance(old, str) and isinstance(new, str):
            yield from _texts(f"{place}.{name}", old, new)
        elif old != new or (name in then) != (name in now):
            yield f"{place}.{name}", _bounded(old), _bounded(new)


def _texts(place: str, then: str, now: str) -> Iterator[Difference]:
    """With the first difference in sight."""
    if then != now:
        same = next((at for at, pair in enumerate(zip(then, now, strict=False)) if len(set(pair)) > 1), len(then))
        begin = max(0, min(same, len(now)) - BEFORE_CHARS)
        yield place, _cut(then, begin), _cut(now, begin)


def _cut(text: str, begin: int) -> str:
    end = begin + SHOWN_CHARS
    return f"{'…' if begin else ''}{text[begin:end]}{'…' if len(text) > end else ''}"


def _bounded(value: JsonValue) -> JsonValue:
    text = json.dumps(value, ensure_ascii=False)
    return value if len(text) <= SHOWN_CHARS else _cut(text, 0)


def _roles(messages: tuple[Message, ...]) -> JsonValue:
    return _bounded(", ".join(message.role for message in messages))
