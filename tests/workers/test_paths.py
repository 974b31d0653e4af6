import os
import socket
import threading
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.workers.skill_folders import write_skill

from skillfleet_workers.skills.models import Skill
from skillfleet_workers.skills.paths import (
    LISTED_FILES,
    document,
    open_inside,
    read_piece,
)
from skillfleet_workers.wire.contract import READ_LIMIT_BYTES, Document, ToolError


@pytest.fixture
def skill(tmp_path: Path) -> Skill:
    (tmp_path / "secret.txt").write_text("secret")
    return write_skill(tmp_path / "calc", {"SKILL.MD": "# Calc", "docs/a.md": "A", "docs/deep/b.md": "B"})


def error_of(skill: Skill, path: str) -> ToolError:
    result = open_inside(skill.root, path)
    assert isinstance(result, ToolError), result
    result.model_dump_json()
    return result


def text_of(skill: Skill, path: str) -> str:
    file = open_inside(skill.root, path)
    assert not isinstance(file, ToolError), file
    with file:
        return file.read().decode()


@pytest.mark.parametrize("path", ["docs/a.md", "./docs/a.md", "docs//a.md"])
def test_a_file_of_the_skill_is_opened(skill: Skill, path: str) -> None:
    assert text_of(skill, path) == "A"


@pytest.mark.parametrize(
    "path",
    ["", "/etc/passwd", "..", "../secret.txt", "docs/../../secret.txt", "docs/../SKILL.MD", "..\\secret.txt",
     "docs\\a.md", "a\0b", "\ud800"],
)  # fmt: skip
def test_a_path_that_is_not_plainly_inside_is_refused(skill: Skill, path: str) -> None:
    assert error_of(skill, path).error == "path_outside_skill"


@pytest.mark.parametrize("target", ["{outside}", "/etc/passwd", "/dev/null", "/dev/zero", "/proc/self/environ"])
def test_a_symlink_that_leaves_the_skill_is_refused(skill: Skill, target: str) -> None:
    (skill.root / "link").symlink_to(target.format(outside=skill.root.parent / "secret.txt"))
    assert error_of(skill, "link").error == "path_outside_skill"


def test_a_folder_that_is_a_symlink_out_of_the_skill_is_refused(skill: Skill) -> None:
    (skill.root / "up").symlink_to("..")
    assert error_of(skill, "up/secret.txt").error == "path_outside_skill"
    assert "secret" not in error_of(skill, "up/nothing.txt").fix


def test_a_folder_whose_name_begins_like_the_skills_is_outside(skill: Skill) -> None:
    write_skill(skill.root.parent / "calculator", {"a.md": "other"})
    (skill.root / "link").symlink_to(skill.root.parent / "calculator" / "a.md")
    assert error_of(skill, "link").error == "path_outside_skill"


def test_a_symlink_that_stays_in_the_skill_is_followed(skill: Skill) -> None:
    (skill.root / "link").symlink_to("docs/a.md")
    (skill.root / "docs" / "back").symlink_to("../docs")
    assert text_of(skill, "link") == "A"
    assert text_of(skill, "docs/back/a.md") == "A"


def test_what_is_no_regular_file_is_refused_without_waiting(skill: Skill, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(skill.root / "fifo")
    monkeypatch.chdir(skill.root)  # The path of a socket must be short.
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        for path in ("fifo", "socket", "docs", ".", "docs/deep/"):
            assert error_of(skill, path).error == "not_a_file", path


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_a_device_in_the_skill_is_refused(skill: Skill) -> None:
    try:
        os.mknod(skill.root / "device", 0o20666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("no devices can be made in this container")
    assert error_of(skill, "device").error == "not_a_file"


def test_a_missing_file_is_answered_with_the_files_of_that_folder(skill: Skill) -> None:
    missing = error_of(skill, "docs/c.md")
    assert missing.error == "file_not_found"
    assert "docs/a.md, docs/deep/b.md" in missing.fix
    assert "SKILL.MD" not in missing.fix
    assert "SKILL.MD" in error_of(skill, "nowhere/c.md").fix
    assert "docs/a.md" in error_of(skill, "docs").fix


@pytest.mark.parametrize("path", ["x" * 300, "x/" * 3000, "docs/a.md/x", "loop"])
def test_a_path_that_cannot_exist_is_not_found(skill: Skill, path: str) -> None:
    (skill.root / "loop").symlink_to("loop")
    found = error_of(skill, path)
    assert found.error == "file_not_found"
    assert len(found.message) < 300


def test_at_most_so_many_files_are_listed_and_none_of_tools(skill: Skill) -> None:
    for folder in ("docs", "docs/venv", "docs/node_modules", "docs/__pycache__", "docs/.git"):
        write_skill(skill.root / folder, {f"{n}.md": "" for n in range(30)})
    (skill.root / "docs" / os.fsdecode(b"\xff.md")).touch()
    fix = error_of(skill, "docs/x").fix
    assert fix.count(".md") == LISTED_FILES
    assert not any(name in fix for name in ("venv", "node_modules", "__pycache__", ".git"))


def swap_file(root: Path) -> None:
    for target in ("docs/deep/b.md", "../../secret/b.md"):
        (root / "next").symlink_to(target)
        (root / "next").rename(root / "swapped")


def swap_folder(root: Path) -> None:
    (root / "docs").rename(root / "away")
    (root / "docs").symlink_to("../secret")
    (root / "docs").unlink()
    (root / "away").rename(root / "docs")


@pytest.mark.parametrize(
    ("swap", "path"), [(swap_file, "swapped"), (swap_folder, "docs/b.md"), (swap_folder, "link")]
)
def test_what_is_swapped_for_a_symlink_at_any_moment_never_leads_outside(
    tmp_path: Path, swap: Callable[[Path], None], path: str
) -> None:
    write_skill(tmp_path / "secret", {"b.md": "secret"})
    skill = write_skill(tmp_path / "calc", {"docs/b.md": "B", "docs/deep/b.md": "B"})
    (skill.root / "link").symlink_to("docs/b.md")
    stop = threading.Event()

    def keep_swapping() -> None:
        while not stop.is_set():
            swap(skill.root)

    swapping = threading.Thread(target=keep_swapping)
    swapping.start()
    seen = set[bytes | str]()
    try:
        for _ in range(1500):
            file = open_inside(skill.root, path)
            if isinstance(file, ToolError):
                seen.add(file.error)
            else:
                with file:
                    seen.add(file.read())
    finally:
        stop.set()
        swapping.join()
    assert seen >= {b"B", "path_outside_skill"}
    assert b"secret" not in seen


def test_no_descriptor_is_left_open_by_a_refusal(skill: Skill) -> None:
    os.mkfifo(skill.root / "fifo")
    (skill.root / "link").symlink_to("/etc/passwd")
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for path in ("fifo", "link", "docs", "nothing"):
        error_of(skill, path)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def pieces(content: bytes, limit: int) -> Iterator[str]:
    offset: int | None = 0
    while offset is not None:
        piece = read_piece(BytesIO(content), offset, limit)
        assert not isinstance(piece, ToolError)
        text, following, total = piece
        assert total == len(content)
        assert following is None or offset < following <= offset + max(limit, 4)
        offset = following
        yield text


@given(st.text(alphabet="aé€😀\n\r", max_size=60), st.integers(1, 20))
def test_the_pieces_of_a_text_are_the_text(text: str, limit: int) -> None:
    assert "".join(pieces(text.encode(), limit)) == text


@given(
    st.lists(st.sampled_from([b"a", b"\n", b"\xf0", b"\x9f", b"\x98", b"\x80", b"\xff", b"\xe2"])), st.integers(1, 9)
)
def test_bytes_that_are_not_utf8_are_replaced_as_in_one_piece(parts: list[bytes], limit: int) -> None:
    content = b"".join(parts)
    assert "".join(pieces(content, limit)) == content.decode("utf-8", "replace")


def test_a_piece_ends_with_a_line_where_it_can() -> None:
    assert list(pieces(b"one\ntwo\nthree", 10)) == ["one\ntwo\n", "three"]
    assert list(pieces(b"onetwothree", 6)) == ["onetwo", "three"]


def test_an_empty_file_is_one_empty_piece() -> None:
    assert list(pieces(b"", 10)) == [""]
    assert read_piece(BytesIO(b"abc"), 3) == ("", None, 3)


@pytest.mark.parametrize("offset", [4, 10**30, -1])
def test_an_offset_outside_of_the_file_is_an_error(offset: int) -> None:
    piece = read_piece(BytesIO(b"abc"), offset)
    assert isinstance(piece, ToolError)
    assert piece.error == "bad_offset"


def test_a_binary_file_is_no_text() -> None:
    piece = read_piece(BytesIO(b"\x89PNG\0"), 0)
    assert isinstance(piece, ToolError)
    assert piece.error == "not_text"
    assert "run_python_script" in piece.fix


def test_a_document_is_read_on_to_its_end(skill: Skill) -> None:
    content = "".join(f"line {n}: {'é' * (n % 100)}\n" for n in range(2000))
    (skill.root / "docs" / "long.md").write_text(content)
    read, offset = "", 0
    while True:
        piece = document(skill, "docs/./long.md", offset)
        assert isinstance(piece, Document)
        assert (piece.skill_name, piece.path, piece.offset) == ("calc", "docs/long.md", offset)
        assert len(piece.text.encode()) <= READ_LIMIT_BYTES
        read += piece.text
        if piece.next_offset is None:
            break
        offset = piece.next_offset
    assert read == content
    assert piece.total_bytes == len(content.encode())


def test_without_a_path_the_documentation_is_read(skill: Skill) -> None:
    documented = Skill(skill.name, skill.root, documentation="SKILL.MD")
    piece = document(documented, None)
    assert isinstance(piece, Document)
    assert (piece.path, piece.text) == ("SKILL.MD", "# Calc")


def test_a_skill_without_documentation_is_answered_with_its_files(skill: Skill) -> None:
    piece = document(skill, None)
    assert isinstance(piece, ToolError)
    assert piece.error == "no_documentation"
    assert "docs/a.md" in piece.fix


def test_an_error_of_a_piece_names_its_file(skill: Skill) -> None:
    (skill.root / "image.png").write_bytes(b"\x89PNG\0")
    piece = document(skill, "image.png")
    assert isinstance(piece, ToolError)
    assert piece.message == "image.png: it is no text file."
    assert isinstance(document(skill, ""), ToolError)
