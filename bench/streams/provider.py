"""A model provider that streams to hundreds at once; each piece of its text is the time at which it was written.

A program of its own: `python -m bench.streams.provider`, as `bench.scale.provider`.
"""

import json
import time
from collections.abc import Sequence
from typing import Any

from ..scale.provider import Part, serve

FIRST_AFTER_S = 1.0
"""Meanwhile those who follow get ready."""

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
FRAME = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": "stream"}
USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


def model_name(pieces: int, pace_s: float) -> str:
    return f"{pieces}x{pace_s:g}"


def answer(request: dict[str, Any]) -> Sequence[Part]:
    pieces, pace_s = request["model"].split("x")
    begins = (0.0, lambda: HEAD + _chunk({"role": "assistant", "content": ""}))
    told = [(FIRST_AFTER_S + number * float(pace_s), _stamp) for number in range(int(pieces))]
    return [begins, *told, (told[-1][0], _end)]


def _stamp() -> bytes:
    return _chunk({"content": f"{time.time():.6f} "})


def _end() -> bytes:
    usage = _event(FRAME | {"choices": [], "usage": USAGE})
    return _chunk({}, "stop") + usage + _framed(b"data: [DONE]\n\n") + _framed(b"")


def _chunk(delta: dict[str, str], reason: str | None = None) -> bytes:
    return _event(FRAME | {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})


def _event(document: dict[str, Any]) -> bytes:
    return _framed(b"data: " + json.dumps(document).encode() + b"\n\n")


def _framed(content: bytes) -> bytes:
    """As HTTP's chunked encoding has it."""
    return f"{len(content):x}\r\n".encode() + content + b"\r\n"


if __name__ == "__main__":
    serve(answer)
