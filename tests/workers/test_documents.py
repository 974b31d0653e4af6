from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.workers.skill_folders import write_skill

from skillfleet_workers.skills.models import Skill
from skillfleet_workers.skills.paths import document, read_piece
from skillfleet_workers.wire.contract import READ_LIMIT_BYTES, Document, ToolError


@pytest.fixture
def skill(tmp_path: Path) -> Skill:
    return write_skill(tmp_path / "calc", {"SKILL.MD": "# Calc", "docs/a.md": "A"})


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
