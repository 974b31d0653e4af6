"""What is unpacked from an archive, and what is refused, with the reason; then nothing is left of it."""

import io
import stat
import tarfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from tests.workers.packed import GOOD, good_tar, good_zip, tar_gz, tar_member, zip_member, zipped

from skillfleet_workers.skills.archives import unpack
from skillfleet_workers.skills.members import Limits, RefusedError

LINK, FIFO, DEVICE = stat.S_IFLNK | 0o777, stat.S_IFIFO | 0o644, stat.S_IFCHR | 0o644
FILE = stat.S_IFREG | 0o644
SMALL = Limits(total_bytes=3_000_000, file_bytes=2_000_000, members=20)


@pytest.mark.parametrize(("name", "make"), [("a.zip", good_zip), ("a.skill", good_zip), ("a.tar.gz", good_tar)])
def test_an_archive_is_unpacked_with_its_execute_bits(
    tmp_path: Path, name: str, make: Callable[[Path], Path]
) -> None:
    unpack(make(tmp_path / name), tmp_path / "out")
    files = {
        str(f.relative_to(tmp_path / "out")): f.read_text() for f in (tmp_path / "out").rglob("*") if f.is_file()
    }
    assert files == GOOD
    assert stat.S_IMODE((tmp_path / "out/pdf-tools/scripts/read.py").stat().st_mode) == 0o755


def refused(archive: Path, why: str, limits: Limits = SMALL) -> None:
    """With that reason; nothing lies there then, or anywhere near."""
    around = sorted(archive.parent.iterdir())
    with pytest.raises(RefusedError, match=why):
        unpack(archive, archive.parent / "out", limits)
    assert sorted(archive.parent.iterdir()) == around


TARS = {
    "an absolute path": ([tar_member("/tmp/x")], "absolute path"),
    "a path that leads out": ([tar_member("a/../../x")], r"leads out with '\.\.'"),
    "a backslash": ([tar_member("a\\x")], "backslash"),
    "a control character": ([tar_member("a\x1b[2Jx")], "control characters"),
    "a name that is not UTF-8": ([tar_member("a\udcff")], "not UTF-8"),
    "a long name": ([tar_member("a" * 256)], "too long"),
    "a deep path": ([tar_member("a/" * 40 + "x")], "too deep"),
    "a long path": ([tar_member("/".join(["a" * 200] * 6))], "too long"),
    "a symlink out": ([tar_member("a", type=tarfile.SYMTYPE, linkname="../../etc")], "symlink that leads out"),
    "an absolute symlink": ([tar_member("a", type=tarfile.SYMTYPE, linkname="/etc")], "symlink that leads out"),
    "a symlink to nowhere": ([tar_member("a", type=tarfile.SYMTYPE, linkname="b")], "or nowhere"),
    "a symlink to itself": ([tar_member("a", type=tarfile.SYMTYPE, linkname="a")], "or nowhere"),
    "a symlink over a symlink": (
        [
            tar_member("d/e", b""),
            tar_member("in", type=tarfile.SYMTYPE, linkname="d"),
            tar_member("out", type=tarfile.SYMTYPE, linkname="in/../.."),
        ],
        "symlink that leads out",
    ),
    "a file through a symlink": (
        [tar_member("d/e"), tar_member("a", type=tarfile.SYMTYPE, linkname="d"), tar_member("a/x")],
        "'a' is a symlink",
    ),
    "a hard link out": ([tar_member("a", type=tarfile.LNKTYPE, linkname="../../etc/passwd")], "leads out"),
    "a hard link to an absolute path": ([tar_member("a", type=tarfile.LNKTYPE, linkname="/etc/passwd")], "absolute"),
    "a hard link to nothing": ([tar_member("a", type=tarfile.LNKTYPE, linkname="b")], "does not come before"),
    "a FIFO": ([tar_member("a", type=tarfile.FIFOTYPE)], "neither a file"),
    "a device": ([tar_member("a", type=tarfile.CHRTYPE)], "neither a file"),
    "a setuid file": ([tar_member("a", mode=0o4755)], "setuid"),
    "a setgid file": ([tar_member("a", mode=0o2755)], "setuid"),
    "a file twice": ([tar_member("a"), tar_member("./a")], "a place that is taken: 'a' is a file"),
    "twins by case": ([tar_member("README"), tar_member("readme")], "'readme' differs from 'README' by case"),
    "twins of folders": ([tar_member("A/x"), tar_member("a/y")], "'a' differs from 'A' by case"),
    "twins by accents": ([tar_member("\u00e9"), tar_member("e\u0301")], "spelling of accents"),
    "a file where a folder is": ([tar_member("a/x"), tar_member("a")], "'a' is a folder"),
    "no name": ([tar_member(".")], "no name of a file"),
    "a file that is too big": ([tar_member("a", Random(1).randbytes(2_000_001))], "more than 2000000 bytes"),
    "too many files": ([tar_member(str(n)) for n in range(21)], "more than 20 files"),
    "a bomb": ([tar_member("a", bytes(1_100_000))], "100 times its size"),
}  # fmt: skip


@pytest.mark.parametrize(("members", "why"), TARS.values(), ids=TARS.keys())
def test_a_tar_is_refused_with(tmp_path: Path, members: list[tuple[tarfile.TarInfo, bytes]], why: str) -> None:
    refused(tar_gz(tmp_path / "a.tar.gz", *members), why)


ZIPS = {
    "an absolute path": ([zip_member("/tmp/x")], "absolute path"),
    "a path that leads out": ([zip_member("../x")], r"leads out with '\.\.'"),
    "a NUL character": ([zip_member("a\0b")], "control characters"),
    "a symlink out": ([zip_member("a", b"/etc/passwd", LINK)], "symlink that leads out"),
    "a symlink that is no text": ([zip_member("a", b"\xff", LINK)], "cannot be read"),
    "a long symlink": ([zip_member("a", b"b/" * 4_000, LINK)], "symlink that leads out"),
    "a FIFO": ([zip_member("a", b"", FIFO)], "neither a file"),
    "a device": ([zip_member("a", b"", DEVICE)], "neither a file"),
    "a setuid file": ([zip_member("a", b"", FILE | 0o4000)], "setuid"),
    "twins by case": ([zip_member("ß"), zip_member("SS")], "by case"),
    "another compression": ([zip_member("a", b"a", compress_type=zipfile.ZIP_BZIP2)], "compressed in another way"),
    "a bomb": ([zip_member("a", bytes(1_100_000), compress_type=zipfile.ZIP_DEFLATED)], "100 times its size"),
}


@pytest.mark.parametrize(("members", "why"), ZIPS.values(), ids=ZIPS.keys())
def test_a_zip_is_refused_with(tmp_path: Path, members: list[tuple[zipfile.ZipInfo, bytes]], why: str) -> None:
    refused(zipped(tmp_path / "a.zip", *members), why)


def test_a_zip_with_a_name_twice_is_refused(tmp_path: Path) -> None:
    with warnings.catch_warnings(action="ignore"):
        archive = zipped(tmp_path / "a.zip", zip_member("a"), zip_member("a"))
    refused(archive, "a place that is taken")


def test_an_encrypted_zip_is_refused(tmp_path: Path) -> None:
    archive = good_zip(tmp_path / "a.zip")
    data = bytearray(archive.read_bytes())
    data[data.index(b"PK\1\2") + 8] |= 1
    archive.write_bytes(data)
    refused(archive, "is encrypted")


def test_a_zip_that_lies_about_a_size_is_counted_as_it_unpacks(tmp_path: Path) -> None:
    info, content = zip_member("a", bytes(2_500_000), compress_type=zipfile.ZIP_STORED)
    archive = zipped(tmp_path / "a.zip", (info, content))
    data = archive.read_bytes()
    real = (2_500_000).to_bytes(4, "little")
    archive.write_bytes(data.replace(real, (10).to_bytes(4, "little")))
    refused(archive, "cannot be read|more than")


def test_a_name_in_utf_8_that_is_not_marked_so_is_read_all_the_same(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "a.zip", zip_member("aé"))
    data = archive.read_bytes()
    for signature, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        at = data.index(signature) + flags
        data = data[:at] + bytes(2) + data[at + 2 :]
    archive.write_bytes(data)
    unpack(archive, tmp_path / "out")
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["aé"]
    archive.write_bytes(data.replace("é".encode(), b"\xff\xfe"))
    refused_at = tmp_path / "again"
    with pytest.raises(RefusedError, match="not UTF-8"):
        unpack(archive, refused_at)


def test_links_that_stay_inside_are_kept_and_hard_links_become_files(tmp_path: Path) -> None:
    archive = tar_gz(
        tmp_path / "a.tar.gz",
        tar_member("s/a", b"text"),
        tar_member("s/b/up", type=tarfile.SYMTYPE, linkname="../a"),
        tar_member("s/same", type=tarfile.LNKTYPE, linkname="s/a"),
    )
    unpack(archive, tmp_path / "out")
    assert (tmp_path / "out/s/b/up").is_symlink() and (tmp_path / "out/s/b/up").read_text() == "text"
    assert (tmp_path / "out/s/same").stat().st_nlink == 1 and (tmp_path / "out/s/same").read_text() == "text"


def test_a_tar_whose_names_alone_are_a_bomb_is_refused(tmp_path: Path) -> None:
    info = tarfile.TarInfo("a")
    info.pax_headers = {"comment": "x" * 1_000_000}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(info)
    (tmp_path / "a.tar.gz").write_bytes(buffer.getvalue())
    refused(tmp_path / "a.tar.gz", "a name in it is too long")


@pytest.mark.parametrize("make", [good_zip, good_tar])
def test_an_archive_that_ends_too_early_is_refused(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    whole = make(tmp_path / "a").read_bytes()
    for size in range(4, len(whole), 7):
        (tmp_path / "a").write_bytes(whole[:size])
        refused(tmp_path / "a", "cannot be read")


def test_what_is_no_archive_or_too_big_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_text("no archive")
    refused(tmp_path / "a.zip", "neither a zip nor")
    refused(good_zip(tmp_path / "a.zip"), "bytes itself", Limits(total_bytes=10))


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/kept").touch()
    with pytest.raises(FileExistsError):
        unpack(good_zip(tmp_path / "a.zip"), tmp_path / "out")
    assert (tmp_path / "out/kept").exists()
