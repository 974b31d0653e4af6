"""What Anthropic's Messages refuse in a request, written apart from the product (pure)."""

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.image_rules import media_type_of

FIELDS = {
    "model", "messages", "max_tokens", "system", "tools", "tool_choice", "stream", "output_config", "temperature",
    "top_p", "top_k", "stop_sequences", "metadata", "thinking", "cache_control", "service_tier",
}  # fmt: skip
ID = re.compile(r"^[a-zA-Z0-9_-]+$")
NAME = re.compile(r"^[a-zA-Z0-9_-]{1,128}$")
BLOCKS = {"user": {"text", "image", "tool_result"}, "assistant": {"text", "tool_use", "thinking"}}
MEDIA_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
CHOICES = ("auto", "any", "tool", "none")
CACHE_MARKS = 4


def why_refused(headers: Mapping[str, str], request: dict[str, Any]) -> str | None:
    """The sentence of the 400 that the request deserves, or None."""
    if "anthropic-version" not in headers:
        return "anthropic-version: header is required"
    return next(_wrongs(request), None)


def _wrongs(request: dict[str, Any]) -> Iterator[str]:
    for unknown in sorted(set(request) - FIELDS):
        yield f"{unknown}: Extra inputs are not permitted"
    if not isinstance(request.get("model"), str) or not request["model"]:
        yield "model: Field required"
    if not isinstance(request.get("max_tokens"), int) or request["max_tokens"] < 1:
        yield "max_tokens: Field required"
    messages = request.get("messages")
    if not isinstance(messages, list) or not messages:
        yield "messages: at least one message is required"
        return
    yield from _wrong_system(request)
    for place, message in enumerate(messages):
        for wrong in _wrong_message(message):
            yield f"messages.{place}: {wrong}"
    yield from _wrong_order(messages)
    yield from _wrong_tools(request)
    yield from _wrong_output(request)
    if len(list(_marks(request))) > CACHE_MARKS:
        yield f"A maximum of {CACHE_MARKS} blocks with cache_control may be provided."


def _wrong_system(request: dict[str, Any]) -> Iterator[str]:
    system = request.get("system", "-")
    for block in [{"type": "text", "text": system}] if isinstance(system, str) else system:
        if block.get("type") != "text":
            yield "system: text blocks only"
        else:
            yield from _wrong_block(block)


def _wrong_message(message: Any) -> Iterator[str]:
    role = message.get("role") if isinstance(message, dict) else None
    if role not in BLOCKS or set(message) != {"role", "content"}:
        yield "roles are user and assistant, with content"
        return
    content = message["content"]
    if not content or not isinstance(content, str | list):
        yield "content must be non-empty"
        return
    for place, block in enumerate([{"type": "text", "text": content}] if isinstance(content, str) else content):
        if block.get("type") not in BLOCKS[role]:
            yield f"content.{place}: a block of type {block.get('type')!r} does not belong here"
            return
        yield from (f"content.{place}: {wrong}" for wrong in _wrong_block(block))


def _wrong_block(block: dict[str, Any]) -> Iterator[str]:
    match block["type"]:
        case "text":
            if not isinstance(block.get("text"), str) or not block["text"].strip():
                yield "text content blocks must contain non-whitespace text"
        case "image":
            yield from _wrong_image(block.get("source", {}))
        case "tool_use":
            if not ID.match(str(block.get("id", ""))) or not NAME.match(str(block.get("name", ""))):
                yield f"tool_use: id should match {ID.pattern}, name {NAME.pattern}"
            if not isinstance(block.get("input"), dict):
                yield "tool_use.input: Input should be a valid dictionary"
        case "tool_result":
            yield from _wrong_result(block)


def _wrong_image(source: dict[str, Any]) -> Iterator[str]:
    if source.get("type") != "base64" or source.get("media_type") not in MEDIA_TYPES:
        yield "image: base64, of a media type that is known"
        return
    try:
        data = base64.b64decode(source["data"], validate=True)
    except ValueError:
        yield "image: invalid base64 data"
        return
    if media_type_of(data) != source["media_type"]:
        yield f"image: was specified using the {source['media_type']} media type, but does not appear to be one"


def _wrong_result(block: dict[str, Any]) -> Iterator[str]:
    content = block.get("content", "")
    if not isinstance(block.get("tool_use_id"), str) or not isinstance(content, str | list):
        yield "tool_result: tool_use_id and content are needed"
    if block.get("is_error") and not content:
        yield "tool_result: content cannot be empty if `is_error` is true"
    for part in content if isinstance(content, list) else ():
        if part.get("type") not in ("text", "image"):
            yield "tool_result: holds texts and images only"
        else:
            yield from _wrong_block(part)


def _wrong_order(messages: list[dict[str, Any]]) -> Iterator[str]:
    wanted: list[str] = []
    for place, message in enumerate(messages):
        if message["role"] != ("user", "assistant")[place % 2]:
            yield "messages: roles must alternate between user and assistant, and begin with user"
            return
        blocks = message["content"] if isinstance(message["content"], list) else []
        kinds = [block["type"] for block in blocks]
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if sorted(answered) != sorted(wanted):
            yield f"messages.{place}: `tool_use` ids {wanted} need a `tool_result` each right after, got {answered}"
        if kinds[: len(answered)] != ["tool_result"] * len(answered):
            yield f"messages.{place}: tool_result blocks come first"
        wanted = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if len(set(wanted)) != len(wanted):
            yield f"messages.{place}: `tool_use` ids must be unique"
    if wanted:
        yield f"messages: `tool_use` ids were found without `tool_result` blocks: {wanted}"


def _wrong_tools(request: dict[str, Any]) -> Iterator[str]:
    tools = request.get("tools", [])
    for place, tool in enumerate(tools):
        schema = tool.get("input_schema")
        if not NAME.match(str(tool.get("name", ""))) or not isinstance(schema, dict):
            yield f"tools.{place}: name and input_schema are needed"
        elif schema.get("type") != "object":
            yield f"tools.{place}.input_schema.type: Input should be 'object'"
        for unknown in sorted(set(tool) - {"name", "description", "input_schema", "cache_control", "type", "strict"}):
            yield f"tools.{place}.{unknown}: Extra inputs are not permitted"
    if len({tool.get("name") for tool in tools}) != len(tools):
        yield "tools: Tool names must be unique."
    choice = request.get("tool_choice")
    if choice is not None and (not tools or choice.get("type") not in CHOICES):
        yield "tool_choice: may only be specified while providing tools"


def _wrong_output(request: dict[str, Any]) -> Iterator[str]:
    form = request.get("output_config", {}).get("format")
    if form is None:
        return
    if form.get("type") != "json_schema" or not isinstance(form.get("schema"), dict):
        yield "output_config.format: type json_schema and a schema are needed"
    elif any(one.get("type") == "object" and one.get("additionalProperties") is not False for one in _dicts(form)):
        yield "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false"


def _marks(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return (one for one in _dicts(request) if one.get("cache_control"))


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _dicts(inner)
