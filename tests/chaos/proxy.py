"""A TCP proxy before redis that can be slow, or fall silent without a word: half-open connections."""

import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field


@dataclass
class Proxy:
    """`delay_s`: each way. While `silent`, what comes is swallowed, and new connections are taken and not answered;
    what had been connected then stays so for good."""

    upstream: int
    delay_s: float = 0.0
    swallowed: int = 0
    _silent: threading.Event = field(default_factory=threading.Event)
    _listener: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0), backlog=512))

    def start(self) -> None:
        threading.Thread(target=self._run, name="proxy", daemon=True).start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"

    def fall_silent(self) -> None:
        self._silent.set()

    def speak(self) -> None:
        """To who connects from now on."""
        self._silent = threading.Event()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _run(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                silent = self._silent
                try:
                    server = socket.create_connection(("127.0.0.1", self.upstream))
                except OSError:
                    client.close()
                    continue
                server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=self._pump, args=(source, target, silent), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, silent: threading.Event) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                if self.delay_s:
                    time.sleep(self.delay_s)
                if silent.is_set():
                    self.swallowed += len(data)
                else:
                    target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
