"""The streams of a container, as the engine sends them."""

import socket
import struct
from collections.abc import Mapping
from typing import Any

import docker

HEADER = struct.Struct(">BxxxL")
"""Which stream, and how many bytes follow."""

STDOUT, STDERR = 1, 2
PIECE_BYTES = 65_536


class Attached:
    """One connection to the engine for one container, made before its start: nothing is missed."""

    def __init__(self, client: docker.DockerClient, container: str, *, stdin: bool = False) -> None:
        asked: Mapping[str, int] = {"stream": 1, "stdout": 1, "stderr": 1, "stdin": int(stdin)}
        self._reply: Any = client.api.attach_socket(container, params=asked)
        # Its own timeout would be that of any answer; a script may be silent for long.
        self._socket: socket.socket = getattr(self._reply, "_sock", self._reply)
        self._socket.settimeout(None)
        self._left = 0
        self._stream = 0

    def fileno(self) -> int:
        return self._socket.fileno()

    def read(self) -> tuple[int, bytes]:
        """A stream and a piece of it, as soon as there is one; empty at the end."""
        while not self._left:
            head = self._exactly(HEADER.size)
            if len(head) < HEADER.size:
                return 0, b""
            self._stream, self._left = HEADER.unpack(head)
        piece = self._socket.recv(min(self._left, PIECE_BYTES))
        self._left -= len(piece)
        return self._stream, piece

    def rest(self, most: int) -> bytes:
        """All that is still said, up to the end or about `most` bytes."""
        said = b""
        while len(said) < most and (piece := self.read()[1]):
            said += piece
        return said

    def feed(self, content: bytes) -> None:
        """Of standard input. Raises OSError."""
        self._socket.sendall(content)

    def close(self) -> None:
        self._reply.close()
        self._socket.close()

    def _exactly(self, count: int) -> bytes:
        said = b""
        while len(said) < count and (piece := self._socket.recv(count - len(said))):
            said += piece
        return said
