"""A network between a fleet and its redis that can fail in the ways that close no connection."""

import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Network:
    """Passes bytes on to a port, `delay_s` later. While `dead`, it swallows them; a connection that lost some stays
    silent for good, as does one whose other end has moved away."""

    def __init__(self, port: int, listener: socket.socket) -> None:
        self._upstream, self._listener = port, listener
        self.delay_s = 0.0
        self.dead = False
        self.swallowed = 0

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def run(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client: socket.socket) -> None:
        with client, socket.socket() as server, selectors.DefaultSelector() as waiting, suppress(OSError):
            server.connect(("127.0.0.1", self._upstream))
            waiting.register(client, selectors.EVENT_READ, server)
            waiting.register(server, selectors.EVENT_READ, client)
            under_way: deque[tuple[float, socket.socket, bytes]] = deque()
            lost = False
            while True:
                patience = max(0.0, under_way[0][0] - time.monotonic()) if under_way else 1.0
                for ready, _ in waiting.select(patience):
                    data = ready.fileobj.recv(1 << 20)  # type: ignore[union-attr]
                    if not data:
                        return
                    lost = lost or self.dead
                    self.swallowed += len(data) if lost else 0
                    if not lost:
                        under_way.append((time.monotonic() + self.delay_s, ready.data, data))
                while under_way and under_way[0][0] <= time.monotonic():
                    _, target, data = under_way.popleft()
                    target.sendall(data)


@contextmanager
def network_to(port: int) -> Iterator[Network]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        network = Network(port, listener)
        threading.Thread(target=network.run, daemon=True).start()
        yield network
        listener.shutdown(socket.SHUT_RDWR)
