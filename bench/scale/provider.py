"""A model provider on 127.0.0.1 that takes its time, for hundreds at once, in one thread: OpenAI's Chat Completions.

A program of its own: `python -m bench.scale.provider` writes its base URL and serves until its stdin ends. What it
answers is in the model's name (`model_name`).
"""

import heapq
import json
import selectors
import socket
import sys
import time
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from tests.model_answers import Completion

from skillfleet_workers.wire.contract import RUN_PYTHON

from ..sides import ANSWER, SCRIPT

SKILL = "sums"
"""Whose environment the calls run in."""

READ_BYTES = 1 << 20

Part = tuple[float, Callable[[], bytes]]
"""What is sent so many seconds after the request; it is made when it is sent."""

Answer = Callable[[dict[str, Any]], Sequence[Part]]


def model_name(calls: int, delay_s: float) -> str:
    """Of a model that asks for so many calls, one a turn, then answers; each takes it `delay_s`."""
    return f"{calls}x{delay_s:g}"


def answer(request: dict[str, Any]) -> Sequence[Part]:
    """The reply, whole."""
    calls, delay_s = request["model"].split("x")
    done = sum(message["role"] == "tool" for message in request["messages"])
    arguments = json.dumps({"skill_name": SKILL, "script": SCRIPT})
    call = (f"call_{done}", RUN_PYTHON.tool, arguments)
    reply = Completion(calls=(call,)) if done < int(calls) else Completion(ANSWER)
    body = json.dumps(reply.document()).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return [(float(delay_s), lambda: head.encode() + body)]


class Provider:
    """Every connection carries one request at a time."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
        self._listener.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._received: dict[socket.socket, bytes] = {}
        self._promised: list[tuple[float, int, socket.socket, Callable[[], bytes]]] = []
        """When to send what to whom, soonest first; the number keeps equals in order."""
        self._numbers = count()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"

    def serve_until_closed(self, end: int) -> None:
        """Until the descriptor `end` can be read."""
        self._selector.register(end, selectors.EVENT_READ)
        while True:
            wait = max(0.0, self._promised[0][0] - time.monotonic()) if self._promised else None
            for key, _ in self._selector.select(wait):
                if key.fileobj == end:
                    return
                self._hear(key.fileobj)
            self._send_due()

    def _hear(self, sender: Any) -> None:
        if sender is self._listener:
            connection, _ = sender.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._received[connection] = b""
            self._selector.register(connection, selectors.EVENT_READ)
            return
        try:
            data = sender.recv(READ_BYTES)
        except ConnectionError:
            data = b""
        if not data:
            self._forget(sender)
            return
        self._received[sender] += data
        if (body := _body(self._received[sender])) is not None:
            self._received[sender] = b""
            now = time.monotonic()
            for after_s, part in self._answer(json.loads(body)):
                heapq.heappush(self._promised, (now + after_s, next(self._numbers), sender, part))

    def _send_due(self) -> None:
        while self._promised and self._promised[0][0] <= time.monotonic():
            _, _, connection, part = heapq.heappop(self._promised)
            if connection not in self._received:
                continue
            try:
                connection.sendall(part())
            except ConnectionError:
                self._forget(connection)

    def _forget(self, connection: socket.socket) -> None:
        self._selector.unregister(connection)
        del self._received[connection]
        connection.close()


def _body(received: bytes) -> bytes | None:
    """None while the request is not complete."""
    head, blank, rest = received.partition(b"\r\n\r\n")
    if not blank:
        return None
    lengths = (line.partition(b":")[2] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    return rest if len(rest) >= int(next(lengths, b"0")) else None


def serve(answer: Answer) -> None:
    provider = Provider(answer)
    print(provider.base_url, flush=True)
    provider.serve_until_closed(sys.stdin.fileno())


if __name__ == "__main__":
    serve(answer)
