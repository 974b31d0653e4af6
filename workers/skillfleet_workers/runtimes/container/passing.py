"""What the init of a container says of its run, taken apart and passed on."""

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from ..inside.alone import CONTENT, CONTROL, HEADER, NAME, STDERR, STDOUT
from . import attached
from .interpreter import SAID_BYTES

OOM_KILLS = b"oom_kills "


class Passing:
    """The script's output goes to `streams`, the files that it hands over to `output`, `room` bytes at most, and
    what is told of the run to its control: but for the last line, `done`, which is true when all is here."""

    def __init__(self, control: socket.socket, streams: Sequence[int], output: Path, room: int) -> None:
        self.done = b""
        self.oom_kills = 0
        self._control, self._room = control, room
        self._streams = dict(zip((STDOUT, STDERR), streams, strict=True))
        self._output = output
        self._opened = ExitStack()
        self._file: IO[bytes] | None = None
        self._said = bytearray()
        self._trouble = b""

    @property
    def trouble(self) -> str:
        """What the init itself complains of."""
        return self._trouble.decode("utf-8", "replace").strip()[-600:]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, at: TracebackType | None
    ) -> None:
        self._opened.close()

    def take(self, stream: int, piece: bytes) -> None:
        """Raises: OSError: nobody takes it."""
        if stream != attached.STDOUT:
            self._trouble = (self._trouble + piece)[-SAID_BYTES:]
            return
        self._said += piece
        for kind, content in self._frames():
            if kind in self._streams:
                written(self._streams[kind], content)
            elif kind == CONTROL:
                self._hear(content)
            elif kind == NAME:
                self._begin(content)
            elif kind == CONTENT and self._file is not None:
                self._file.write(content[: self._room])
                self._room = max(self._room - len(content), 0)

    def _frames(self) -> Iterator[tuple[int, bytes]]:
        """Those that are complete."""
        while len(self._said) >= HEADER.size:
            kind, length = HEADER.unpack_from(self._said)
            end = HEADER.size + length
            if len(self._said) < end:
                return
            content = bytes(self._said[HEADER.size : end])
            del self._said[:end]
            yield kind, content

    def _hear(self, line: bytes) -> None:
        if line.startswith(b"done"):
            self.done = line
        elif line.startswith(OOM_KILLS):
            self.oom_kills = int(line.removeprefix(OOM_KILLS))
        else:
            self._control.sendall(line)

    def _begin(self, name: bytes) -> None:
        """A file of that name; none where it would lie elsewhere."""
        self._opened.close()
        self._file = None
        relative = Path(os.fsdecode(name))
        if relative.is_absolute() or ".." in relative.parts:
            return
        path = self._output / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._opened.enter_context(path.open("xb"))


def written(descriptor: int, piece: bytes) -> None:
    left = memoryview(piece)
    while left:
        left = left[os.write(descriptor, left) :]
