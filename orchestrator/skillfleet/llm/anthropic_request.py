"""A ModelRequest as the body of one of Anthropic's Messages (pure)."""

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

from ..conversations.messages import Message, ToolCall
from .attachments import Image, shown
from .base import ModelRequest

NOT_AN_OBJECT = "INVALID_JSON"
"""Under it stands, in what a tool was called with, the text that was no JSON object (the provider's own advice)."""

_MARK = {"cache_control": {"type": "ephemeral"}}
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_UNNAMEABLE = re.compile(r"[^a-zA-Z0-9_-]")
_FAILED = re.compile(
    r'\{"(error": "|status": "(failed|timed_out|killed|oom_killed|cancelled|lost|protocol_violation)")'
)
"""How what a model is shown of a ToolError, or of a ScriptExecution that did not succeed, begins."""


def body_of(request: ModelRequest, *, stream: bool, max_output_tokens: int) -> dict[str, Any]:
    """Without the model, and without the answer's schema."""
    first, *rest = request.messages
    system, spoken = ([first], rest) if first.role == "system" else ([], [first, *rest])
    body: dict[str, Any] = {
        "max_tokens": request.max_output_tokens or max_output_tokens,
        "messages": _merged(request, spoken),
    }
    if system:
        body["system"] = [_text(message.content) for message in system]
    if request.tools:
        body["tools"] = [_tool(tool.function.model_dump(mode="json")) for tool in request.tools]
        if not request.may_call:
            body["tool_choice"] = {"type": "none"}
    if stream:
        body["stream"] = True
    _mark(body)
    return body


def _tool(function: dict[str, Any]) -> dict[str, Any]:
    about = {"description": function["description"]} if function["description"].strip() else {}
    return {"name": function["name"], **about, "input_schema": {"type": "object"} | function["parameters"]}


def _merged(request: ModelRequest, messages: list[Message]) -> list[dict[str, Any]]:
    """User and assistant take turns; what calls brought comes first in the user's, as it does in the transcript."""
    merged: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if message.role == "assistant" else "user"
        if not (blocks := list(_blocks(request, message))):
            continue
        if not merged or merged[-1]["role"] != role:
            merged.append({"role": role, "content": []})
        merged[-1]["content"] += blocks
    return merged


def _blocks(request: ModelRequest, message: Message) -> Iterator[dict[str, Any]]:
    if message.role == "tool":
        yield _result(request, message)
        return
    if message.content and message.content.strip():
        yield _text(message.content)
    yield from _files(request, message)
    for call in message.tool_calls or ():
        yield _use(call)


def _result(request: ModelRequest, message: Message) -> dict[str, Any]:
    content = message.content or ""
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": _id(message.tool_call_id or "")}
    if message.attachments:
        told = [_text(content)] if content.strip() else []
        block["content"] = [*told, *_files(request, message)]
    else:
        block["content"] = content
    return block | ({"is_error": True} if _FAILED.match(content) else {})


def _files(request: ModelRequest, message: Message) -> Iterator[dict[str, Any]]:
    """Each image has its name before it."""
    for file in message.attachments or ():
        found = shown(file, request.file)
        if not isinstance(found, Image):
            yield _text(found)
            continue
        yield _text(f"{file.name}:")
        source = {"type": "base64", "media_type": file.media_type, "data": found.base64}
        yield {"type": "image", "source": source}


def _use(call: ToolCall) -> dict[str, Any]:
    name = _UNNAMEABLE.sub("_", call.function.name)[:128]
    return {"type": "tool_use", "id": _id(call.id), "name": name, "input": _input(call.function.arguments)}


def _input(arguments: str) -> dict[str, Any]:
    try:
        given = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        given = None
    return given if isinstance(given, dict) else {NOT_AN_OBJECT: arguments}


def _id(call_id: str) -> str:
    """Other providers' ids may hold what this one refuses."""
    return call_id if _ID.fullmatch(call_id) else f"call_{hashlib.sha256(call_id.encode()).hexdigest()[:32]}"


def _text(text: str | None) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _mark(body: dict[str, Any]) -> None:
    """Where the provider may keep what it has read: behind the tools, the system prompt, and the last two messages of
    the user's. The last but one is where the turn before has written, and the provider looks back only 20 blocks."""
    asked = [message["content"] for message in body["messages"] if message["role"] == "user"]
    for blocks in (body.get("tools"), body.get("system"), *asked[-2:]):
        if blocks:
            blocks[-1] |= _MARK
