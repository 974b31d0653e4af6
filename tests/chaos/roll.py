"""The roll: every script calls in when it starts and when it ends, so that runs are counted by who ran."""

import socketserver
import threading
from collections import Counter
from types import TracebackType
from typing import Self

CLIENT = """
import os, socket, time
with socket.create_connection(("127.0.0.1", {port})) as roll:
    roll.sendall(b"start " + {name} + b"\\n")
    time.sleep({seconds})
    roll.sendall(b"end\\n")
print({result!r})
"""
"""A script of a skill with a network. `name`: an expression for who runs."""


class Roll(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Caller)
        self.starts: Counter[str] = Counter()
        self.ends: Counter[str] = Counter()
        self.answers: Counter[tuple[str, str]] = Counter()
        """What the naive side answered whom; ours has the ledger for it."""
        self.live: Counter[str] = Counter()
        self.lock = threading.Lock()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def script(self, result: str, seconds: float, name: str = "os.environ['SKILLFLEET_CALL_ID'].encode()") -> str:
        return CLIENT.format(port=self.port, name=name, seconds=seconds, result=result)

    def running(self) -> set[str]:
        with self.lock:
            return set(+self.live)

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()
        self.server_close()


class _Caller(socketserver.StreamRequestHandler):
    server: Roll

    def handle(self) -> None:
        try:
            self._attend()
        except ConnectionError:
            return

    def _attend(self) -> None:
        word, _, rest = self.rfile.readline().decode().strip().partition(" ")
        if word == "answer":
            name, _, answer = rest.partition(" ")
            with self.server.lock:
                self.server.answers[name, answer] += 1
        elif word == "start":
            with self.server.lock:
                self.server.starts[rest] += 1
                self.server.live[rest] += 1
            try:
                ended = self.rfile.readline()
            finally:
                with self.server.lock:
                    self.server.live[rest] -= 1
            if ended:
                with self.server.lock:
                    self.server.ends[rest] += 1
