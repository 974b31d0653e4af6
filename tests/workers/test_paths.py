import itertools
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.workers.skill_folders import write_skill

from skillfleet_workers.skills.models import Skill
from skillfleet_workers.skills.paths import (
    LISTED_FILES,
    open_inside,
)
from skillfleet_workers.wire.contract import ToolError


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


def _open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def _read(skill: Skill, path: str) -> bytes | str:
    """The content, or the code of the error."""
    file = open_inside(skill.root, path)
    if isinstance(file, ToolError):
        return file.error
    with file:
        return file.read()


def swap_file(root: Path) -> None:
    for target in ("docs/deep/b.md", "../secret/b.md"):
        (root / "next").symlink_to(target)
        (root / "next").rename(root / "swapped")


def swap_folder(root: Path) -> None:
    (root / "docs").rename(root / "away")
    (root / "docs").symlink_to("../secret")
    (root / "docs").unlink()
    (root / "away").rename(root / "docs")


def test_a_file_swapped_for_a_pipe_at_any_moment_is_never_waited_for(skill: Skill) -> None:
    stop = threading.Event()
    before = _open_descriptors()

    def keep_swapping() -> None:
        while not stop.is_set():
            os.mkfifo(skill.root / "next")
            (skill.root / "next").rename(skill.root / "swapped")
            (skill.root / "next").write_bytes(b"B")
            (skill.root / "next").rename(skill.root / "swapped")

    swapping = threading.Thread(target=keep_swapping)
    swapping.start()
    seen = set[bytes | str]()
    try:
        for tries in itertools.count():
            if (tries > 1500 and seen >= {b"B", "not_a_file"}) or tries > 100_000:
                break
            seen.add(_read(skill, "swapped"))
    finally:
        stop.set()
        swapping.join()
    assert seen >= {b"B", "not_a_file"}
    assert _open_descriptors() == before


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
        for tries in itertools.count():
            if (tries > 1500 and seen >= {b"B", "path_outside_skill"}) or tries > 100_000:
                break
            seen.add(_read(skill, path))
    finally:
        stop.set()
        swapping.join()
    assert seen >= {b"B", "path_outside_skill"}
    assert b"secret" not in seen


def test_no_descriptor_is_left_open(skill: Skill) -> None:
    os.mkfifo(skill.root / "fifo")
    (skill.root / "link").symlink_to("/etc/passwd")
    before = _open_descriptors()
    for path in ("fifo", "link", "docs", "nothing"):
        error_of(skill, path)
    assert text_of(skill, "docs/deep/b.md") == "B"
    assert _open_descriptors() == before
