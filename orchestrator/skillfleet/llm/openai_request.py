"""A ModelRequest as the body of a chat completion (pure)."""

from collections.abc import Iterator
from typing import Any

from ..conversations.messages import Message
from .attachments import Image, shown
from .base import ModelRequest

_STRICT = {"type", "properties", "required", "additionalProperties", "items", "enum", "description", "title", "anyOf"}
"""What OpenAI's strict schemas may hold, of what servers agree on."""


def body_of(request: ModelRequest, *, stream: bool) -> dict[str, Any]:
    """Without the model."""
    body: dict[str, Any] = {"messages": list(_messages(request))}
    if request.tools:
        body["tools"] = [tool.model_dump(mode="json") for tool in request.tools]
        if not request.may_call:
            body["tool_choice"] = "none"
    if request.max_output_tokens is not None:
        body["max_tokens" if request.plain else "max_completion_tokens"] = request.max_output_tokens
    if request.schema is not None and request.schema.get("type") == "object":
        about = {"name": "answer", "schema": request.schema, "strict": _strict(request.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": about}
    if stream:
        body["stream"] = True
        if not request.plain:
            body["stream_options"] = {"include_usage": True}
    return body


def _messages(request: ModelRequest) -> Iterator[dict[str, Any]]:
    """A tool message cannot hold an image: a message of the user's brings them, behind the last one of the turn."""
    brought: list[dict[str, Any]] = []
    for message in request.messages:
        if message.role != "tool" and brought:
            yield {"role": "user", "content": brought}
            brought = []
        wire = message.wire()
        if message.role == "tool":
            about = f"from the call {message.tool_call_id} of {message.name or 'a tool'}"
            brought += _parts(request, message, about)
        elif message.attachments:
            wire["content"] = [_text(message.content or ""), *_parts(request, message, "")]
        yield wire
    if brought:
        yield {"role": "user", "content": brought}


def _parts(request: ModelRequest, message: Message, about: str) -> Iterator[dict[str, Any]]:
    """Each image has its name, and what the images are `about`, before it."""
    for file in message.attachments or ():
        found = shown(file, request.file)
        told = f" {about}" if about else ""
        if not isinstance(found, Image):
            yield _text(f"{found}{told}")
            continue
        yield _text(f"{file.name}{told}:")
        yield {"type": "image_url", "image_url": {"url": f"data:{file.media_type};base64,{found.base64}"}}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _strict(schema: Any) -> bool:
    """Whether a provider takes it as one that its replies are held to: every object closed, all of it required."""
    if not isinstance(schema, dict) or schema.keys() - _STRICT:
        return False
    inner = [*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else [])]
    properties = schema.get("properties", {})
    if "object" in schema.get("type", ()) or properties:
        closed = schema.get("additionalProperties") is False
        if not closed or set(schema.get("required", ())) != set(properties):
            return False
    return all(map(_strict, (*inner, *properties.values())))
