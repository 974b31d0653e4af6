"""Chat completions on the wire: streams and errors (pure)."""

import json
from collections.abc import Iterator
from typing import Any

from tests.model_answers import Completion, Failed, Raw, TooLong
from tests.model_events import Event, data, pieces


def events(completion: Completion, request: dict[str, Any]) -> Iterator[Event]:
    """Tokens are told of only where the request asks for it."""
    document = completion.document()
    frame = {key: document[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    choice = document["choices"][0]
    for delta, is_piece in _deltas(choice["message"]):
        chunk = frame | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        yield Event(data(chunk), is_piece)
    ending = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    yield Event(data(frame | {"choices": [ending]}))
    if (request.get("stream_options") or {}).get("include_usage"):
        yield Event(data(frame | {"choices": [], "usage": document["usage"]}))
    yield Event(b"data: [DONE]\n\n")


def _deltas(message: dict[str, Any]) -> Iterator[tuple[dict[str, Any], bool]]:
    yield {"role": "assistant", "content": None}, False
    for name in ("reasoning_content", "content", "refusal"):
        for piece in pieces(message.get(name) or ""):
            yield {name: piece}, name == "content"
    for index, call in enumerate(message.get("tool_calls", ())):
        function = call["function"]
        yield {"tool_calls": [call | {"index": index, "function": function | {"arguments": ""}}]}, False
        for piece in pieces(function["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}, True


def failed(failure: Failed) -> Raw:
    return Raw(json.dumps(_error(failure)).encode(), failure.status, failure.headers)


def too_long(answer: TooLong) -> Failed:
    sentence = (
        f"This model's maximum context length is 128000 tokens. However, your messages resulted in {answer.tokens} "
        "tokens. Please reduce the length of the messages."
    )
    return Failed(400, sentence, "context_length_exceeded")


def error_event(failure: Failed) -> bytes:
    return data(_error(failure))


def _error(failure: Failed) -> dict[str, Any]:
    kind = "server_error" if failure.status >= 500 else "invalid_request_error"
    return {"error": {"message": failure.message, "type": kind, "param": None, "code": failure.code}}
