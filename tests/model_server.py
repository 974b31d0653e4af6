"""A model provider on 127.0.0.1 that speaks OpenAI's Chat Completions and Anthropic's Messages, whole and streamed,
as strict and as moody as the real ones.

`python -m tests.model_server --port N --script FILE` plays a script to any number of conversations.
"""

import argparse
import contextlib
import json
import socket
import socketserver
import struct
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.model_answers import (
    BLANK_EVERY_S,
    MODEL,
    Answer,
    Answers,
    Break,
    Completion,
    Failed,
    Gate,
    Hang,
    Raw,
    Reset,
    TooLong,
    failure,
    plays,
)
from tests.model_wire import FORMATS, OPENAI, OVERLOADED, WireFormat, streamed

from skillfleet.llm.scripted import ScriptedModel, load_script

JSON = "application/json"
GATE_LOOK_S = 0.1
KEY = "sk-test-0123456789"
REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


@dataclass(frozen=True, slots=True)
class Received:
    method: str
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    status: int


class ModelServer(socketserver.ThreadingTCPServer):
    """`answers`: what it answers to valid requests, in this order, or a function of the request."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 1024

    def __init__(
        self,
        answers: Answers = (),
        *,
        key: str | None = KEY,
        port: int = 0,
        delay_s: float = 0.0,
        record: bool = True,
    ) -> None:
        super().__init__(("127.0.0.1", port), _Connection)
        self._answers = answers if callable(answers) else in_order(answers)
        self.key, self.delay_s, self._record = key, delay_s, record
        self.received: list[Received] = []
        self.connections: set[socket.socket] = set()
        self.closing = threading.Event()
        self.lock = threading.Lock()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self.shutdown()
        self.server_close()
        with self.lock:
            for connection in self.connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no error of ours; anything else is shown."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def answer(self, method: str, path: str, headers: dict[str, str], body: dict[str, Any]) -> Answer:
        wire = FORMATS.get(path)
        answer = self._refusal(method, path, headers, body) or self._accepted(path, body)
        if isinstance(answer, TooLong):
            answer = (wire or OPENAI).too_long(answer)
        if isinstance(answer, Failed):
            answer = (wire or OPENAI).failed(answer)
        status = answer.status if isinstance(answer, Raw) else 200
        if self._record:
            with self.lock:
                self.received.append(Received(method, path, headers, body, status))
        return answer

    def _refusal(self, method: str, path: str, headers: dict[str, str], body: dict[str, Any]) -> Failed | None:
        wire = FORMATS.get(path) if method == "POST" else None
        said = next(filter(None, map(headers.get, (wire or OPENAI).key_headers)), "").removeprefix("Bearer ")
        if self.key is not None and said != self.key:
            return failure(401, f"Incorrect API key provided: {said}.", "invalid_api_key")
        if wire is None and (method, path) != ("GET", "/v1/models"):
            return failure(404, f"Unknown request URL: {method} {path}.", "unknown_url")
        wrong = wire.why_refused(headers, body) if wire else None
        return failure(400, wrong) if wrong else None

    def _accepted(self, path: str, body: dict[str, Any]) -> Answer:
        if path == "/v1/models":
            listed = {"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "tests"}]}
            return Raw(json.dumps(listed).encode())
        return self._answers(body)


class _Connection(socketserver.StreamRequestHandler):
    """HTTP/1.1 with keep-alive, read by hand: http.server's parser costs more than the rest."""

    server: ModelServer
    disable_nagle_algorithm = True
    wbufsize = -1

    def setup(self) -> None:
        super().setup()
        with self.server.lock:
            self.server.connections.add(self.connection)

    def finish(self) -> None:
        with self.server.lock:
            self.server.connections.discard(self.connection)
        super().finish()

    def handle(self) -> None:
        while line := self.rfile.readline():
            method, path, _ = line.decode("latin-1").split(" ", 2)
            headers = dict(self._headers())
            content = self.rfile.read(int(headers.get("content-length", 0)))
            body = json.loads(content) if content else {}
            answer = self.server.answer(method, path, headers, body)
            if not self._send(answer, FORMATS.get(path, OPENAI), body):
                return

    def _headers(self) -> Iterator[tuple[str, str]]:
        while line := self.rfile.readline().decode("latin-1").strip():
            name, _, value = line.partition(":")
            yield name.strip().lower(), value.strip()

    def _send(self, answer: Answer, wire: WireFormat, request: dict[str, Any]) -> bool:
        """Whether the connection lives on."""
        match answer:
            case Hang():
                self.server.closing.wait()
            case Reset():
                self._reset()
            case Raw():
                self._head(answer.status, JSON, len(answer.body) + answer.missing, answer.headers)
                self.wfile.write(answer.body)
                self.wfile.flush()
                return not answer.missing
            case Completion():
                self.server.closing.wait(answer.delay_s + self.server.delay_s)
                return (self._stream if request.get("stream") else self._whole)(answer, wire, request)
        return False

    def _whole(self, answer: Completion, wire: WireFormat, request: dict[str, Any]) -> bool:
        content = json.dumps(wire.document(answer)).encode()
        breaks = answer.breaks
        if breaks and breaks.how == "error":
            return self._send(wire.failed(OVERLOADED), wire, request)
        if breaks and breaks.how == "garbage":
            content = content[: len(content) // 2]
        self._head(200, JSON, answer.blanks + len(content))
        self._blanks(answer.blanks, b" ")
        if answer.gate:
            self._wait_for(answer.gate)
        if breaks and breaks.how != "garbage":
            self.wfile.write(content[: len(content) // 2])
            return self._break(breaks)
        self.wfile.write(content)
        self.wfile.flush()
        return True

    def _stream(self, answer: Completion, wire: WireFormat, request: dict[str, Any]) -> bool:
        self._head(200, "text/event-stream", None)
        self._blanks(answer.blanks, _chunk(wire.blank))
        for step in streamed(wire, answer, request):
            match step:
                case bytes():
                    self.wfile.write(_chunk(step))
                case Gate():
                    self.wfile.flush()
                    self._wait_for(step)
                case Break():
                    return self._break(step)
                case seconds:
                    self.wfile.flush()
                    self.server.closing.wait(seconds)
        self.wfile.write(_chunk(b""))
        self.wfile.flush()
        return True

    def _break(self, breaks: Break) -> bool:
        if breaks.how in ("end", "half", "error", "garbage"):
            self.wfile.write(_chunk(b""))
        self.wfile.flush()
        if breaks.how == "reset":
            self._reset()
        elif breaks.how == "hang":
            self.server.closing.wait()
        return False

    def _reset(self) -> None:
        """RST instead of FIN."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def _wait_for(self, gate: Gate) -> None:
        while not (gate.opened.wait(GATE_LOOK_S) or self.server.closing.is_set()):
            pass

    def _blanks(self, count: int, blank: bytes) -> None:
        for _ in range(count):
            self.wfile.write(blank)
            self.wfile.flush()
            self.server.closing.wait(BLANK_EVERY_S)

    def _head(self, status: int, kind: str, length: int | None, headers: Mapping[str, str] | None = None) -> None:
        """`length` None: in chunks."""
        lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Status')}", f"Content-Type: {kind}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        lines += ["Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}", "", ""]
        self.wfile.write("\r\n".join(lines).encode("latin-1"))


def _chunk(content: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(content), content)


def in_order(answers: Sequence[Answer]) -> Callable[[dict[str, Any]], Answer]:
    left, lock = list(answers), threading.Lock()

    def answer(request: dict[str, Any]) -> Answer:
        with lock:
            return left.pop(0) if left else failure(418, "the test wrote no more answers")

    return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path, required=True)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before every reply")
    parser.add_argument("--key", default=None, help="the only key that is accepted; default: any")
    given = parser.parse_args()
    model = ScriptedModel.of(load_script(given.script))
    player = ModelServer(plays(model), key=given.key, port=given.port, delay_s=given.delay, record=False)
    with player as server:
        sys.stdout.write(f"{server.base_url}\n")
        sys.stdout.flush()
        with contextlib.suppress(KeyboardInterrupt):
            server.closing.wait()


if __name__ == "__main__":
    main()
