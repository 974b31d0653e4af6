"""Skills as one file: a zip (`.zip`, `.skill`) or a compressed tar (`.tar.gz`), read without trusting it."""

import errno
import gzip
import io
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Literal

from .members import MAX_LINK_BYTES, PIECE_BYTES, USUAL, Budget, Limits, Member, RefusedError
from .planting import fresh, plant

LONGEST_READ = 16 << 20
"""The list of a zip's members is read in one piece: what is longer lists more than is allowed."""

LONGEST_NAME = 65_536
TAR_FRAMES = 64 << 20
"""Of headers and padding around what a tar holds, at most so much."""

ENCRYPTED = 0x1
UTF8 = 0x800
UNIX = 3

_UNREADABLE = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, struct.error, EOFError,
    ValueError, RuntimeError, OverflowError, IndexError, KeyError,
)  # fmt: skip
"""All that the readers of the standard library raise for what is no archive."""

ArchiveKind = Literal["zip", "tar.gz"]


def unpack(archive: Path, into: Path, limits: Limits = USUAL) -> None:
    """`into` is created; when anything is refused, it is gone again.

    Raises:
        RefusedError: the archive or something in it is refused.
        OSError: it cannot be read, or what is in it cannot be written.
    """
    with archive.open("rb") as file, fresh(into):
        kind, packed = _kind(file), archive.stat().st_size
        if packed > limits.total_bytes:
            raise RefusedError(f"it has more than {limits.total_bytes} bytes itself")
        members = _of_zip(archive) if kind == "zip" else _of_tar(file, Budget(_frames(limits)))
        plant(members, into, Budget(limits, packed))


def _kind(file: BinaryIO) -> ArchiveKind:
    head = file.read(4)
    file.seek(0)
    if head.startswith(b"PK"):
        return "zip"
    if head.startswith(b"\x1f\x8b"):
        return "tar.gz"
    raise RefusedError("it is neither a zip nor a .tar.gz")


@contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except (*_UNREADABLE, OSError) as wrong:
        if isinstance(wrong, OSError) and wrong.errno not in (None, errno.EINVAL):  # not what the archive says
            raise
        why = " ".join(str(wrong).split())[:200] or type(wrong).__name__
        raise RefusedError(f"it cannot be read: {why}") from None


class _ShortReads(io.FileIO):
    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > LONGEST_READ:
            raise RefusedError("it lists more files than are allowed")
        return super().read(LONGEST_READ if size is None or size < 0 else size) or b""


def _of_zip(path: Path) -> Iterator[Member]:
    with _ShortReads(path) as file:
        with _reading():
            archive = zipfile.ZipFile(file)
        with archive:
            for info in archive.infolist():
                yield _zip_member(archive, info)


def _zip_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    name = _zip_name(info)
    member = Member(name, "file")
    mode = info.external_attr >> 16 if info.create_system == UNIX else 0
    if info.flag_bits & ENCRYPTED:
        raise RefusedError(f"{member.shown} is encrypted")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise RefusedError(f"{member.shown} is compressed in another way than a zip usually is (deflate)")
    if name.endswith("/") or stat.S_ISDIR(mode):
        return Member(name, "folder")
    if stat.S_ISLNK(mode):
        return Member(name, "symlink", target=_link_target(archive, info))
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise RefusedError(f"{member.shown} is neither a file, a folder nor a symlink")
    return Member(name, "file", stat.S_IMODE(mode), pieces=lambda: _zip_pieces(archive, info))


def _zip_name(info: zipfile.ZipInfo) -> str:
    """What is not marked as UTF-8 often is all the same; zipfile takes it for code page 437."""
    name = info.orig_filename
    if info.flag_bits & UTF8 or name.isascii():
        return name
    try:
        return name.encode("cp437").decode()
    except UnicodeError:
        raise RefusedError(f"the name {name[:120]!r} is not UTF-8") from None


def _link_target(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> str:
    with _reading(), archive.open(info) as file:
        return file.read(MAX_LINK_BYTES + 1).decode()


def _zip_pieces(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    with _reading(), archive.open(info) as file:
        while piece := file.read(PIECE_BYTES):
            yield piece


_NAMING = (
    tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK,
)  # fmt: skip


class _Header(tarfile.TarInfo):
    """tarfile keeps long names in memory, whole."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "_Header":
        header = super().frombuf(buf, encoding, errors)
        if header.type in _NAMING and header.size > LONGEST_NAME:
            raise RefusedError("a name in it is too long")
        return header


class _Counted:
    """Decompressed bytes, counted: also those that tarfile reads for itself."""

    def __init__(self, file: BinaryIO, budget: Budget) -> None:
        self._file, self._budget = file, budget

    def read(self, size: int) -> bytes:
        piece = self._file.read(size)
        self._budget.unpacked(len(piece))
        return piece


def _frames(limits: Limits) -> Limits:
    return replace(limits, total_bytes=limits.total_bytes + TAR_FRAMES)


def _of_tar(file: BinaryIO, budget: Budget) -> Iterator[Member]:
    with gzip.GzipFile(fileobj=file) as unzipped:
        stream = _Counted(unzipped, budget)  # type: ignore[arg-type]
        with _reading():
            archive = tarfile.open(fileobj=stream, mode="r|", tarinfo=_Header)  # type: ignore[call-overload] # noqa: SIM115
        with archive:
            while True:
                with _reading():
                    info = archive.next()
                if info is None:
                    break
                yield _tar_member(archive, info)
        with _reading():  # the checksum comes last
            while stream.read(PIECE_BYTES):
                pass


def _tar_member(archive: tarfile.TarFile, info: tarfile.TarInfo) -> Member:
    member = Member(info.name, "file", info.mode, pieces=lambda: _tar_pieces(archive, info))
    if info.isdir():
        return Member(info.name, "folder")
    if info.issym():
        return Member(info.name, "symlink", target=info.linkname)
    if info.islnk():
        return Member(info.name, "hard link", info.mode, target=info.linkname)
    if not info.isreg() or info.issparse():
        raise RefusedError(f"{member.shown} is neither a file, a folder nor a link")
    return member


def _tar_pieces(archive: tarfile.TarFile, info: tarfile.TarInfo) -> Iterator[bytes]:
    with _reading():
        file = archive.extractfile(info)
        while file is not None and (piece := file.read(PIECE_BYTES)):
            yield piece
