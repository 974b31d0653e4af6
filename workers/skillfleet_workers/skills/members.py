"""What a skill is installed from, file by file, and which names and sizes are refused (pure)."""

import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from ..wire.shown import is_text, short

MAX_NAME_BYTES = 255
MAX_PATH_BYTES = 1_024
MAX_DEPTH = 32
MAX_LINK_BYTES = 4_096
PIECE_BYTES = 65_536
RATIO_FROM_BYTES = 1_000_000

SETUID_OR_SETGID = 0o6000
EXECUTABLE = 0o111

Kind = Literal["file", "folder", "symlink", "hard link"]


class RefusedError(Exception):
    """What was to be installed is not; the message says why."""


@dataclass(frozen=True, slots=True)
class Member:
    """`target` of a symlink is relative to its folder, of a hard link to the archive's root. `pieces` reads a file's
    content, `mode` has its permission bits."""

    name: str
    kind: Kind
    mode: int = 0o644
    target: str = ""
    pieces: Callable[[], Iterator[bytes]] = lambda: iter(())

    @property
    def shown(self) -> str:
        return repr(short(self.name, 120))


@dataclass(frozen=True, slots=True)
class Limits:
    """Of what is unpacked; `ratio` is to the archive's own size, and holds beyond RATIO_FROM_BYTES."""

    total_bytes: int = 200_000_000
    file_bytes: int = 100_000_000
    members: int = 10_000
    ratio: int = 100


USUAL = Limits()


class Budget:
    """Counts what is really unpacked: what an archive says of its sizes may be a lie. `packed_bytes` None: nothing
    was packed."""

    def __init__(self, limits: Limits, packed_bytes: int | None = None) -> None:
        self._limits, self._packed = limits, packed_bytes
        self._members = self._bytes = 0

    def member(self) -> None:
        """Raises: RefusedError"""
        self._members += 1
        if self._members > self._limits.members:
            raise RefusedError(f"it has more than {self._limits.members} files and folders")

    def unpacked(self, size: int) -> None:
        """Raises: RefusedError"""
        self._bytes += size
        if self._bytes > self._limits.total_bytes:
            raise RefusedError(f"it unpacks to more than {self._limits.total_bytes} bytes")
        if self._packed is None or self._bytes <= RATIO_FROM_BYTES:
            return
        if self._bytes > self._packed * self._limits.ratio:
            raise RefusedError(f"it unpacks to more than {self._limits.ratio} times its size, as a bomb does")

    def pieces(self, member: Member) -> Iterator[bytes]:
        """The content of a file, counted.

        Raises:
            RefusedError
        """
        size = 0
        for piece in member.pieces():
            size += len(piece)
            if size > self._limits.file_bytes:
                raise RefusedError(f"{member.shown} has more than {self._limits.file_bytes} bytes")
            self.unpacked(len(piece))
            yield piece


class Names:
    """The paths seen so far: each once, on file systems that take upper and lower case for the same too."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[str, Kind]] = {}

    def take(self, member: Member) -> PurePosixPath:
        """Its path below the folder that it is unpacked to.

        Raises:
            RefusedError
        """
        path = safe_path(member.name)
        for parent in reversed(path.parents[:-1]):
            self._take(str(parent), "folder", member)
        if path.parts:
            self._take(str(path), member.kind, member)
        return path

    def _take(self, path: str, kind: Kind, member: Member) -> None:
        folded = unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())
        spelled, known = self._seen.get(folded, (path, kind))
        if spelled != path:
            raise RefusedError(
                f"{short(path, 120)!r} differs from {short(spelled, 120)!r} by case or spelling of accents alone"
            )
        if folded in self._seen and not known == kind == "folder":
            raise RefusedError(f"{member.shown} needs a place that is taken: {short(path, 120)!r} is a {known}")
        self._seen[folded] = (path, kind)


def safe_path(name: str) -> PurePosixPath:
    """Without `.` and empty parts; of the root itself, empty.

    Raises:
        RefusedError
    """
    if not is_text(name):
        raise RefusedError(f"the name {short(name, 120)!r} is not UTF-8")
    shown = repr(short(name, 120))
    if any(unicodedata.category(character) == "Cc" for character in name):
        raise RefusedError(f"the name {shown} has control characters")
    if name.startswith("/"):
        raise RefusedError(f"{shown} is an absolute path")
    if "\\" in name:
        raise RefusedError(f"the name {shown} has a backslash")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise RefusedError(f"{shown} leads out with '..'")
    too_long = any(len(part.encode()) > MAX_NAME_BYTES for part in parts)
    if too_long or len(parts) > MAX_DEPTH or len("/".join(parts).encode()) > MAX_PATH_BYTES:
        raise RefusedError(f"the path {shown} is too long or too deep")
    return PurePosixPath(*parts)
