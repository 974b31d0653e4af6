"""What a script must not reach: servers on the host, each of which notes whom it has heard."""

import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Outside:
    """Addresses by kind; `heard`: what came in, by kind."""

    addresses: dict[str, str]
    heard: list[tuple[str, bytes]] = field(default_factory=list)


def _answer(kind: str, server: socket.socket, outside: Outside) -> None:
    while True:
        try:
            if server.type == socket.SOCK_DGRAM:
                outside.heard.append((kind, server.recvfrom(100)[0]))
            else:
                with server.accept()[0] as connection:
                    outside.heard.append((kind, connection.recv(100)))
        except OSError:
            return


@contextmanager
def servers(folder: Path) -> Iterator[Outside]:
    """TCP and UDP on the host's loopback, a unix socket with a path, one without."""
    with ExitStack() as opened:
        bound: dict[str, socket.socket] = {}
        for kind, family, form, address in (
            ("tcp", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            ("udp", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            ("path", socket.AF_UNIX, socket.SOCK_STREAM, str(folder / "broker.sock")),
            ("abstract", socket.AF_UNIX, socket.SOCK_STREAM, f"\0{uuid.uuid4()}"),
        ):
            bound[kind] = opened.enter_context(closing(socket.socket(family, form)))
            bound[kind].bind(address)
            if form == socket.SOCK_STREAM:
                bound[kind].listen()
        (folder / "broker.sock").chmod(0o777)
        outside = Outside({kind: _told(server) for kind, server in bound.items()})
        threads = [threading.Thread(target=_answer, args=(*item, outside)) for item in bound.items()]
        for thread in threads:
            thread.start()
        yield outside
        for server in bound.values():
            server.shutdown(socket.SHUT_RDWR) if server.type == socket.SOCK_STREAM else _wake(server)
        for thread in threads:
            thread.join()


def _wake(server: socket.socket) -> None:
    """A datagram socket's reader wakes on a datagram, and then finds it closed."""
    server.settimeout(0.01)
    with socket.socket(server.family, server.type) as sender:
        sender.sendto(b"", server.getsockname())


def _told(server: socket.socket) -> str:
    address = server.getsockname()
    if isinstance(address, tuple):
        return str(address[1])
    return address.hex() if isinstance(address, bytes) else str(address)


CALLS = """
import socket, sys
kind, address = sys.argv[1:]
family = socket.AF_UNIX if kind in ("path", "abstract") else socket.AF_INET
form = socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM
try:
    with socket.socket(family, form) as caller:
        caller.settimeout(5)
        if family == socket.AF_INET:
            caller.connect(("127.0.0.1", int(address)))
        else:
            caller.connect(address if kind == "path" else bytes.fromhex(address))
        caller.send(b"from the script")
        print("reached")
except OSError as refused:
    print("refused")
"""
