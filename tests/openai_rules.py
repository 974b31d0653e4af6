"""What OpenAI's Chat Completions refuses in a request, written apart from the product (pure)."""

import re
from typing import Any

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
    return _wrong_order(messages) or _wrong_tools(request)


def _wrong_message(message: Any) -> str | None:
    if not isinstance(message, dict) or message.get("role") not in MESSAGE_FIELDS:
        return "unknown role"
    role, content = message["role"], message.get("content")
    if unknown := set(message) - MESSAGE_FIELDS[role]:
        return f"additional properties are not allowed: {sorted(unknown)}"
    if not isinstance(content, str | None):
        return "content is neither a string nor null"
    if role == "assistant":
        return _wrong_calls(message) if "tool_calls" in message else _missing(content)
    if role == "tool" and not isinstance(message.get("tool_call_id"), str):
        return "missing required parameter: tool_call_id"
    return _missing(content)


def _missing(content: str | None) -> str | None:
    return "content is null" if content is None else None


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
