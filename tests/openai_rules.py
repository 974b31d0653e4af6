"""What OpenAI's Chat Completions refuses in a request, written apart from the product (pure)."""

import base64
import re
from collections.abc import Iterator
from typing import Any

from tests.image_rules import media_type_of

FIELDS = {
    "model", "messages", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options", "response_format",
    "max_tokens", "max_completion_tokens", "temperature", "top_p", "n", "seed", "stop", "user",
}  # fmt: skip
NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
MESSAGE_FIELDS = {
    "system": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "tool_calls", "refusal"},
    "tool": {"role", "content", "tool_call_id"},
}


def why_refused(request: dict[str, Any]) -> str | None:
    """The sentence of the 400 that the request deserves, or None."""
    if not isinstance(request.get("model"), str) or not request["model"]:
        return "you must provide a model parameter"
    messages = request.get("messages")
    if not isinstance(messages, list) or not messages:
        return "[] is too short - 'messages'"
    for place, message in enumerate(messages):
        if wrong := _wrong_message(message):
            return f"messages[{place}]: {wrong}"
    return _wrong_order(messages) or _wrong_tools(request) or next(_wrong_options(request), None)


def _wrong_message(message: Any) -> str | None:
    if not isinstance(message, dict) or message.get("role") not in MESSAGE_FIELDS:
        return "unknown role"
    role, content = message["role"], message.get("content")
    if unknown := set(message) - MESSAGE_FIELDS[role]:
        return f"additional properties are not allowed: {sorted(unknown)}"
    if isinstance(content, list) and (wrong := next(_wrong_parts(role, content), None)):
        return wrong
    if not isinstance(content, str | list | None):
        return "content is neither a string, nor parts, nor null"
    if role == "assistant":
        return _wrong_calls(message) if "tool_calls" in message else _missing(content)
    if role == "tool" and not isinstance(message.get("tool_call_id"), str):
        return "missing required parameter: tool_call_id"
    return _missing(content)


def _missing(content: Any) -> str | None:
    return "content is null" if content is None else None


def _wrong_parts(role: str, parts: list[Any]) -> Iterator[str]:
    if not parts:
        yield "[] is too short - 'content'"
    for part in parts:
        match part.get("type"):
            case "text" if isinstance(part.get("text"), str):
                pass
            case "image_url" if role == "user":
                yield from _wrong_image(str(part.get("image_url", {}).get("url")))
            case kind:
                yield f"a content part of type {kind!r} does not belong to a {role} message"


def _wrong_image(url: str) -> Iterator[str]:
    kind, _, data = url.removeprefix("data:").partition(";base64,")
    try:
        found = media_type_of(base64.b64decode(data, validate=True))
    except ValueError:
        found = None
    if not url.startswith("https://") and (found is None or found != kind):
        yield "image_url: You uploaded an unsupported image."


def _wrong_calls(message: dict[str, Any]) -> str | None:
    calls = message["tool_calls"]
    if not isinstance(calls, list) or not calls:
        return "[] is too short - 'tool_calls'"
    ids = [call.get("id") for call in calls]
    if not all(isinstance(call_id, str) and call_id for call_id in ids) or len(set(ids)) != len(ids):
        return "tool_calls need an id each, of their own"
    for call in calls:
        function = call.get("function", {})
        if call.get("type") != "function" or not isinstance(function.get("arguments"), str):
            return "tool_calls need type 'function' and arguments as a string"
        if not NAME.match(str(function.get("name"))):
            return f"function.name does not match {NAME.pattern}"
    return None


def _wrong_order(messages: list[dict[str, Any]]) -> str | None:
    open_ids: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_ids:
                return "messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
            open_ids.discard(message["tool_call_id"])
        elif open_ids:
            break
        else:
            open_ids = {call["id"] for call in message.get("tool_calls", ())}
    if open_ids:
        return f"tool_call_ids did not have response messages: {', '.join(sorted(open_ids))}"
    return None


def _wrong_tools(request: dict[str, Any]) -> str | None:
    if "tools" not in request:
        return None
    if not isinstance(request["tools"], list) or not request["tools"]:
        return "[] is too short - 'tools'"
    for place, tool in enumerate(request["tools"]):
        function = tool.get("function", {})
        if tool.get("type") != "function" or not NAME.match(str(function.get("name"))):
            return f"tools[{place}]: needs type 'function' and a name like {NAME.pattern}"
        parameters = function.get("parameters", {"type": "object"})
        if not isinstance(parameters, dict) or parameters.get("type") != "object":
            return f"tools[{place}]: schema must be of type 'object'"
    return None


def _wrong_options(request: dict[str, Any]) -> Iterator[str]:
    for unknown in sorted(set(request) - FIELDS):
        yield f"Unrecognized request argument supplied: {unknown}"
    if "tool_choice" in request and "tools" not in request:
        yield "'tool_choice' is only allowed when 'tools' are specified"
    choice = request.get("tool_choice", "auto")
    if not isinstance(choice, dict) and choice not in ("none", "auto", "required"):
        yield f"Invalid value: {choice!r} - 'tool_choice'"
    if "stream_options" in request and not request.get("stream"):
        yield "The 'stream_options' parameter is only allowed when 'stream' is enabled."
    if "max_tokens" in request and "max_completion_tokens" in request:
        yield "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
    for name in ("max_tokens", "max_completion_tokens"):
        if name in request and (not isinstance(request[name], int) or request[name] < 1):
            yield f"Invalid '{name}': integer below minimum value"
    yield from _wrong_format(request.get("response_format"))


def _wrong_format(form: Any) -> Iterator[str]:
    if form is None or form in ({"type": "text"}, {"type": "json_object"}):
        return
    about = form.get("json_schema", {}) if isinstance(form, dict) and form.get("type") == "json_schema" else {}
    schema = about.get("schema")
    if not NAME.match(str(about.get("name", ""))) or not isinstance(schema, dict) or schema.get("type") != "object":
        yield "response_format: needs type 'json_schema', a name and a schema of type 'object'"
    elif about.get("strict"):
        for one in _objects(schema):
            required = set(one.get("required", ())) == set(one.get("properties", {}))
            if one.get("additionalProperties") is not False or not required:
                yield "Invalid schema for response_format: 'additionalProperties' is to be false, all to be required"


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict) and value.get("type") == "object":
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(inner)
