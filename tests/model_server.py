"""A model provider on 127.0.0.1 that speaks OpenAI's Chat Completions, as strict and as moody as a real one.

`python -m tests.model_server --port N --script FILE` plays a script to any number of conversations.
"""

import argparse
import contextlib
import json
import socket
import socketserver
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.model_answers import BLANK_EVERY_S, MODEL, Answer, Answers, Completion, Hang, Raw, events, failure, plays
from tests.openai_rules import why_refused

from skillfleet.llm.scripted import ScriptedModel, load_script

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
        self._answers = answers if callable(answers) else _in_order(answers)
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

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: dict[str, Any]) -> Answer:
        answer = self._refusal(method, path, headers, body) or self._accepted(path, body)
        status = answer.status if isinstance(answer, Raw) else 200
        if self._record:
            with self.lock:
                self.received.append(Received(method, path, headers, body, status))
        return answer

    def _refusal(self, method: str, path: str, headers: Mapping[str, str], body: dict[str, Any]) -> Raw | None:
        said = headers.get("authorization", "").removeprefix("Bearer ")
        if self.key is not None and said != self.key:
            return failure(401, f"Incorrect API key provided: {said}.", "invalid_api_key")
        if (method, path) not in (("POST", "/v1/chat/completions"), ("GET", "/v1/models")):
            return failure(404, f"Unknown request URL: {method} {path}.", "unknown_url")
        wrong = why_refused(body) if method == "POST" else None
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
            if not self._send(answer, stream=bool(body.get("stream"))):
                return

    def _headers(self) -> Iterator[tuple[str, str]]:
        while line := self.rfile.readline().decode("latin-1").strip():
            name, _, value = line.partition(":")
            yield name.strip().lower(), value.strip()

    def _send(self, answer: Answer, *, stream: bool) -> bool:
        """Whether the connection lives on."""
        match answer:
            case Hang():
                self.server.closing.wait()
                return False
            case Raw():
                length = len(answer.body) + answer.missing
                self._head(answer.status, "application/json", length, answer.headers)
                self.wfile.write(answer.body)
            case Completion():
                time.sleep(answer.delay_s + self.server.delay_s)
                document = answer.document()
                content = b"".join(events(document)) if stream else json.dumps(document).encode()
                self._head(200, "text/event-stream" if stream else "application/json", answer.blanks + len(content))
                for _ in range(answer.blanks):
                    self.wfile.write(b" ")
                    self.wfile.flush()
                    self.server.closing.wait(BLANK_EVERY_S)
                self.wfile.write(content)
        self.wfile.flush()
        return not (isinstance(answer, Raw) and answer.missing)

    def _head(self, status: int, kind: str, length: int, headers: Mapping[str, str] | None = None) -> None:
        lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Status')}", f"Content-Type: {kind}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        lines += [f"Content-Length: {length}", "", ""]
        self.wfile.write("\r\n".join(lines).encode("latin-1"))


def _in_order(answers: Sequence[Answer]) -> Callable[[dict[str, Any]], Answer]:
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
