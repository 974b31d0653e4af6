"""Anthropic's Messages on the wire: replies, streams and errors (pure)."""

import json
from collections.abc import Iterator
from typing import Any

from tests.model_answers import MODEL, Completion, Failed, Raw, TooLong
from tests.model_events import Event, data, pieces

STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
PING = data({"type": "ping"}, "ping")


def document(completion: Completion) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": list(_blocks(completion)),
        "stop_reason": _stop_reason(completion),
        "stop_sequence": None,
        "stop_details": _stop_details(completion),
        "usage": _usage(completion),
    } | dict(completion.message)


def _blocks(completion: Completion) -> Iterator[dict[str, Any]]:
    if completion.thinking:
        yield {"type": "thinking", "thinking": completion.thinking, "signature": "c2lnbmF0dXJl"}
    if completion.text:
        yield {"type": "text", "text": completion.text, "citations": None}
    for call_id, name, arguments in completion.calls:
        yield {"type": "tool_use", "id": call_id, "name": name, "input": _input(arguments)}


def _input(arguments: str) -> Any:
    """Some gateways send what is no object as the text that it is."""
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return arguments


def _stop_reason(completion: Completion) -> str:
    if completion.refusal:
        return "refusal"
    if completion.finish_reason:
        return STOP_REASONS.get(completion.finish_reason, completion.finish_reason)
    return "tool_use" if completion.calls else "end_turn"


def _stop_details(completion: Completion) -> dict[str, Any] | None:
    if not completion.refusal:
        return None
    return {"type": "refusal", "category": None, "explanation": completion.refusal}


def _usage(completion: Completion) -> dict[str, int]:
    """What is cached is not counted as input."""
    (given, said), (read, written) = completion.usage, completion.cached
    return {
        "input_tokens": given - read - written,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "output_tokens": said,
    }


def events(completion: Completion, request: dict[str, Any]) -> Iterator[Event]:
    whole = document(completion)
    begun = whole | {"content": [], "stop_reason": None, "stop_details": None}
    begun["usage"] = whole["usage"] | {"output_tokens": min(1, whole["usage"]["output_tokens"])}
    yield _event("message_start", message=begun)
    yield Event(PING)
    written = [arguments for _, _, arguments in completion.calls]
    for index, block in enumerate(whole["content"]):
        arguments = written.pop(0) if block["type"] == "tool_use" else ""
        yield _event("content_block_start", index=index, content_block=_empty(block))
        for delta in _deltas(block, arguments):
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    ending = {name: whole[name] for name in ("stop_reason", "stop_sequence", "stop_details")}
    yield _event("message_delta", delta=ending, usage={"output_tokens": whole["usage"]["output_tokens"]})
    yield _event("message_stop")


def _empty(block: dict[str, Any]) -> dict[str, Any]:
    unsaid: dict[str, Any] = {"text": "", "input": {}, "thinking": "", "signature": ""}
    return {name: unsaid.get(name, value) for name, value in block.items()}


def _deltas(block: dict[str, Any], arguments: str) -> Iterator[dict[str, str]]:
    match block["type"]:
        case "text":
            for piece in pieces(block["text"]):
                yield {"type": "text_delta", "text": piece}
        case "thinking":
            for piece in pieces(block["thinking"]):
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": block["signature"]}
        case _:
            yield {"type": "input_json_delta", "partial_json": ""}
            for piece in pieces(arguments):
                yield {"type": "input_json_delta", "partial_json": piece}


def _event(kind: str, **fields: Any) -> Event:
    delta = fields.get("delta", {})
    return Event(data({"type": kind, **fields}, kind), bool(delta.get("text") or delta.get("partial_json")))


def failed(failure: Failed) -> Raw:
    return Raw(json.dumps(_error(failure)).encode(), failure.status, failure.headers)


def too_long(answer: TooLong) -> Failed:
    return Failed(400, f"prompt is too long: {answer.tokens} tokens > 200000 maximum")


def error_event(failure: Failed) -> bytes:
    return data(_error(failure), "error")


def _error(failure: Failed) -> dict[str, Any]:
    kind = ERRORS.get(failure.status, "api_error" if failure.status >= 500 else "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": failure.message}, "request_id": "req_1"}
