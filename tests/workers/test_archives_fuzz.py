"""Archives of anything: each is unpacked or refused, nothing lands outside, and a refused one leaves nothing."""

import gzip
import io
import os
import stat
import tarfile
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

from hypothesis import event, example, given, settings
from hypothesis import strategies as st
from tests.workers.packed import good_tar, good_zip, tar_gz, tar_member, zip_member, zipped

from skillfleet_workers.skills.archives import unpack
from skillfleet_workers.skills.members import Limits, RefusedError

SMALL = Limits(total_bytes=200_000, file_bytes=100_000, members=12)

GOOD_PARTS = ["a", "b", "c", "d", "e", "f", "SKILL.md"]
PARTS = st.sampled_from([*GOOD_PARTS, "A", "..", ".", "", "é", "e\u0301", "x" * 300, "\x1b", "a\\b", "lnk"])
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NAMES = st.one_of(st.lists(PARTS, min_size=1, max_size=4).map("/".join), TEXTS)
TARGETS = st.one_of(NAMES, st.sampled_from(["/", "/etc", "../..", "lnk", "a/../..", ""]))
CONTENTS = st.one_of(st.binary(max_size=64), st.sampled_from([bytes(150_000), bytes(60_000)]))
TAR_TYPES = st.sampled_from([bytes([kind]) for kind in b"0001225534567SgLKMVx\0\xff"])
ZIP_TYPES = st.sampled_from([0, stat.S_IFREG, stat.S_IFLNK, stat.S_IFDIR, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK])
MODES = st.sampled_from([0o644, 0o755, 0o4755, 0o2755, 0o1777, 0])

TAR_MEMBERS = st.lists(st.tuples(NAMES, TAR_TYPES, TARGETS, CONTENTS, MODES), max_size=15)
ZIP_MEMBERS = st.lists(st.tuples(NAMES, ZIP_TYPES, st.one_of(CONTENTS, TARGETS.map(str.encode)), MODES), max_size=15)


def unpacked_or_refused(make: Callable[[Path], object]) -> None:
    with tempfile.TemporaryDirectory(prefix="sf-") as place:
        (Path(place) / "beside").mkdir()
        archive, into = Path(place) / "beside/archive", Path(place) / "in/out"
        into.parent.mkdir()
        make(archive)
        before = archive.read_bytes()
        try:
            unpack(archive, into, SMALL)
        except RefusedError as refused:
            event("refused")
            assert str(refused) and "\n" not in str(refused)
            assert not os.path.lexists(into)
        else:
            event("accepted" if any(into.iterdir()) else "empty")
            holds(into)
        assert archive.read_bytes() == before
        assert sorted(p.name for p in Path(place).rglob("*") if not p.is_relative_to(into)) == sorted(
            ["beside", "archive", "in"]
        )


def holds(into: Path) -> None:
    """Only what may be installed, within the limits."""
    paths = [Path(parent, name) for parent, folders, files in os.walk(into) for name in [*folders, *files]]
    sizes = [path.lstat().st_size for path in paths if not path.is_dir() and not path.is_symlink()]
    assert sum(sizes) <= SMALL.total_bytes and max(sizes, default=0) <= SMALL.file_bytes
    for path in paths:
        mode = path.lstat().st_mode
        assert stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)
        assert stat.S_ISLNK(mode) or not mode & 0o6000
        assert path.resolve(strict=True).is_relative_to(into.resolve())


@given(TAR_MEMBERS)
@settings(max_examples=150, deadline=None)
@example([("a", b"5", "", b"", 0o755), ("lnk", b"2", "a", b"", 0), ("lnk/x", b"0", "", b"x", 0o644)])
@example([("lnk", b"2", "..", b"", 0), ("lnk/x", b"0", "", b"x", 0o644)])
def test_any_tar(members: list[tuple[str, bytes, str, bytes, int]]) -> None:
    def make(path: Path) -> None:
        buffer = [
            tar_member(name, content, type=kind, linkname=target, mode=mode)
            for name, kind, target, content, mode in members
        ]
        tar_gz(path, *buffer)

    unpacked_or_refused(make)


@given(ZIP_MEMBERS)
@settings(max_examples=150, deadline=None)
@example([("lnk", stat.S_IFLNK, b"/etc", 0o777), ("lnk/x", stat.S_IFREG, b"x", 0o644)])
def test_any_zip(members: list[tuple[str, int, bytes, int]]) -> None:
    def make(path: Path) -> None:
        with warnings.catch_warnings(action="ignore"):
            zipped(path, *(zip_member(name, content, kind | mode) for name, kind, content, mode in members))

    unpacked_or_refused(make)


def whole(make: Callable[[Path], Path]) -> bytes:
    with tempfile.TemporaryDirectory(prefix="sf-") as place:
        return make(Path(place) / "a").read_bytes()


def plain_tar(path: Path) -> Path:
    """Without compression, so that a changed byte is not just a wrong checksum of gzip's."""
    packed = good_tar(path)
    with tarfile.open(packed) as archive:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as again:
            for info in archive:
                info.pax_headers = {"comment": "x" * 600}
                again.addfile(info, archive.extractfile(info))
    path.write_bytes(buffer.getvalue())
    return path


CHANGES = st.lists(st.tuples(st.integers(0, 1 << 16), st.binary(min_size=1, max_size=6)), min_size=1, max_size=6)


def changed(data: bytes, changes: list[tuple[int, bytes]]) -> bytes:
    written = bytearray(data)
    for at, value in changes:
        at %= len(written)
        written[at : at + len(value)] = value
    return bytes(written)


@given(CHANGES)
@settings(max_examples=150, deadline=None)
def test_any_change_of_a_zip(changes: list[tuple[int, bytes]]) -> None:
    data = changed(whole(good_zip), [(at + 2, value) for at, value in changes])
    unpacked_or_refused(lambda path: path.write_bytes(b"PK" + data[2:]))


@given(CHANGES)
@settings(max_examples=150, deadline=None)
def test_any_change_of_a_tar(changes: list[tuple[int, bytes]]) -> None:
    data = changed(whole(plain_tar), changes)

    unpacked_or_refused(lambda path: path.write_bytes(gzip.compress(data)))


@given(st.binary(max_size=200), st.sampled_from([b"PK\3\4", b"PK\5\6", b"\x1f\x8b\x08\0", b""]))
@settings(max_examples=150, deadline=None)
def test_any_bytes(data: bytes, begin: bytes) -> None:
    unpacked_or_refused(lambda path: path.write_bytes(begin + data))
