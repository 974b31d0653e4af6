"""A proxy before redis that breaks the connection after a request was carried out, before its answer came."""

import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from skillfleet_workers.wire.connection import RedisUrls


class CuttingProxy:
    def __init__(self, upstream: str, listener: socket.socket) -> None:
        self._upstream, self._listener = upstream, listener
        self._mark: bytes | None = None
        self.cuts = 0

    def cut_after(self, mark: str) -> None:
        """Cut once: after the next request that contains `mark`."""
        self._mark = mark.encode()

    def run(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._forward, args=(client,), daemon=True).start()

    def _forward(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server, selectors.DefaultSelector() as waiting:
            server.connect(self._upstream)
            waiting.register(client, selectors.EVENT_READ, server)
            waiting.register(server, selectors.EVENT_READ, client)
            cutting = False
            while True:
                for ready, _ in waiting.select():
                    data = ready.fileobj.recv(1 << 20)  # type: ignore[union-attr]
                    if not data:
                        return
                    if ready.fileobj is client and self._mark and self._mark in data:
                        self._mark, cutting = None, True
                    if ready.fileobj is server and cutting:
                        self.cuts += 1
                        return
                    ready.data.sendall(data)


@contextmanager
def cutting_proxy(urls: RedisUrls, folder: Path) -> Iterator[tuple[CuttingProxy, RedisUrls]]:
    path = folder / "proxy.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        proxy = CuttingProxy(urls.url.removeprefix("unix://"), listener)
        threading.Thread(target=proxy.run, daemon=True).start()
        yield proxy, RedisUrls(f"unix://{path}")
        listener.shutdown(socket.SHUT_RDWR)
