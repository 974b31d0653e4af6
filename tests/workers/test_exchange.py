"""Two folders exchanged, whether or not the system can do it at once."""

from collections.abc import Callable
from pathlib import Path

import pytest

from skillfleet_workers.skills.exchange import at_once, exchange

Try = Callable[[Path, Path], bool]


def cannot(new: Path, old: Path) -> bool:
    return False


def folder(path: Path, file: str) -> Path:
    path.mkdir()
    (path / file).touch()
    return path


def inside(path: Path) -> list[str]:
    return [file.name for file in path.iterdir()]


@pytest.mark.parametrize("try_first", [at_once, cannot])
def test_each_is_where_the_other_was(tmp_path: Path, try_first: Try) -> None:
    new, old = folder(tmp_path / "new", "a"), folder(tmp_path / "old", "b")
    exchange(new, old, try_first)
    assert (inside(new), inside(old), len(inside(tmp_path))) == (["b"], ["a"], 2)


@pytest.mark.parametrize("try_first", [at_once, cannot])
def test_what_cannot_be_exchanged_stays(tmp_path: Path, try_first: Try) -> None:
    old = folder(tmp_path / "old", "b")
    with pytest.raises(OSError):
        exchange(tmp_path / "none", old, try_first)
    assert (inside(old), inside(tmp_path)) == (["b"], ["old"])


def test_this_system_exchanges_at_once(tmp_path: Path, require: Callable[[bool, str], None]) -> None:
    able = at_once(folder(tmp_path / "new", "a"), folder(tmp_path / "old", "b"))
    require(able, "a file system and a system call that exchange two folders")
    assert inside(tmp_path / "old") == ["a"]
