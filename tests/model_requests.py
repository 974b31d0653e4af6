"""What a request in either wire format tells a model (pure)."""

import base64
import json
from collections.abc import Iterator
from typing import Any

from skillfleet.conversations.messages import FunctionCall, Message, ToolCall


def told(request: dict[str, Any]) -> tuple[Message, ...]:
    """The transcript, without its images."""
    return tuple(_told(request))


def images(request: dict[str, Any]) -> list[bytes]:
    """Every image that the request shows, in their order."""
    return [base64.b64decode(_data(part)) for part in _parts(request["messages"]) if _data(part)]


def _told(request: dict[str, Any]) -> Iterator[Message]:
    if system := _text(request.get("system")):
        yield Message(role="system", content=system)
    for message in request["messages"]:
        blocks = message["content"] if isinstance(message["content"], list) else []
        for block in blocks:
            if block["type"] == "tool_result":
                yield Message(role="tool", tool_call_id=block["tool_use_id"], content=_text(block.get("content")))
        calls = [_call(block) for block in blocks if block["type"] == "tool_use"]
        text = _text(message["content"])
        if message["role"] == "assistant" and calls:
            yield Message(role="assistant", content=text or None, tool_calls=tuple(calls))
        elif message["role"] in ("assistant", "tool"):
            yield Message.model_validate(message | {"content": text or message["content"]})
        elif text:
            yield Message(role=message["role"], content=text)


def _call(block: dict[str, Any]) -> ToolCall:
    return ToolCall(id=block["id"], function=FunctionCall(name=block["name"], arguments=json.dumps(block["input"])))


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if part["type"] == "text")
    return content or ""


def _parts(messages: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for message in messages:
        for part in message["content"] if isinstance(message.get("content"), list) else ():
            yield part
            yield from _parts([part])


def _data(part: dict[str, Any]) -> str:
    if part["type"] == "image":
        return str(part["source"]["data"])
    url = part["image_url"]["url"] if part["type"] == "image_url" else ""
    return str(url).partition(";base64,")[2]
