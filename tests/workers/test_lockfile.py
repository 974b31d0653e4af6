"""skills.lock: what was installed, and whether it is still that."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from skillfleet_workers.skills.lockfile import (
    LOCKFILE,
    Lock,
    LockedSkill,
    LockfileError,
    held,
    read_lock,
    verify,
    write_lock,
)


def entry(name: str, digest: str = "d") -> LockedSkill:
    return LockedSkill(name=name, version="1.0.0", digest=digest, source="./there")


def content(root: Path) -> str:
    return (root / "SKILL.md").read_text()


def test_a_lock_is_written_sorted_and_read_again(tmp_path: Path) -> None:
    write_lock(tmp_path, Lock().having(entry("b")).having(entry("a")).having(entry("b", "new")))
    assert [(skill.name, skill.digest) for skill in read_lock(tmp_path).skills] == [("a", "d"), ("b", "new")]
    text = (tmp_path / LOCKFILE).read_text()
    assert text.index('"a"') < text.index('"b"') and text.endswith("}\n")
    assert [path.name for path in tmp_path.iterdir()] == [LOCKFILE]


def test_a_root_without_a_lock_has_nothing_locked(tmp_path: Path) -> None:
    assert read_lock(tmp_path).skills == () and verify(tmp_path, content) == {}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"skills": [{"name": "a"}]}', "\xff", '{"skills": 1}'])
def test_a_lock_that_cannot_be_read_is_an_error_that_names_it(tmp_path: Path, text: str) -> None:
    (tmp_path / LOCKFILE).write_bytes(text.encode("latin-1"))
    with pytest.raises(LockfileError, match=rf"{LOCKFILE}: .*; restore it, or remove it"):
        verify(tmp_path, content)


def test_a_lock_that_is_a_folder_or_endless_is_an_error(tmp_path: Path) -> None:
    (tmp_path / LOCKFILE).mkdir()
    with pytest.raises(LockfileError, match="cannot be read"):
        read_lock(tmp_path)
    (tmp_path / LOCKFILE).rmdir()
    (tmp_path / LOCKFILE).symlink_to("/dev/zero")
    with pytest.raises(LockfileError, match="cannot be read"):
        read_lock(tmp_path)
    (tmp_path / LOCKFILE).unlink()
    (tmp_path / LOCKFILE).touch()
    os.truncate(tmp_path / LOCKFILE, 5 << 20)
    with pytest.raises(LockfileError, match="more than 4 MB"):
        read_lock(tmp_path)


def test_what_changed_or_is_missing_is_told_with_both_digests(tmp_path: Path) -> None:
    for name in ("same", "changed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "SKILL.md").write_text(name)
    lock = Lock().having(entry("same", "same")).having(entry("changed", "before")).having(entry("gone"))
    write_lock(tmp_path, lock)
    assert verify(tmp_path, content) == {
        "changed": "differs from skills.lock: installed before, now changed",
        "gone": "is in skills.lock, but its folder is missing",
    }


def test_a_skill_that_cannot_be_read_is_told_too(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    write_lock(tmp_path, Lock().having(entry("a")))
    assert "cannot be compared" in verify(tmp_path, content)["a"]


def add(root: Path) -> Callable[[int], None]:
    def one(number: int) -> None:
        with held(root):
            write_lock(root, read_lock(root).having(entry(f"skill-{number}")))

    return one


def test_writers_at_the_same_time_lose_no_entry(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add(tmp_path), range(40)))
    assert len(read_lock(tmp_path).skills) == 40
