"""Copies of skills, and the hash that tells their states apart."""

import os
import shutil
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.workers.skill_folders import write_skill

from skillfleet_workers.skills.digests import Digests, digest_of
from skillfleet_workers.skills.kept import Kept
from skillfleet_workers.skills.models import Skill

FILES: dict[str, str | bytes] = {
    "SKILL.md": "About.",
    "scripts/run.sh": "echo 1",
    "data/a/b.bin": b"\0\xff" * 1000,
    ".env": "A=1",
}


@pytest.fixture
def skill(tmp_path: Path) -> Skill:
    skill = write_skill(tmp_path / "skills/calc", FILES)
    (skill.root / "scripts/run.sh").chmod(0o755)
    (skill.root / "link").symlink_to("data/a")
    return skill


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path / "kept")


def tree(root: Path) -> dict[str, object]:
    """What a copy must have: content, modes, targets of links."""
    found: dict[str, object] = {}
    for path in root.rglob("*"):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = str(path.readlink())
        else:
            mode = stat.S_IMODE(path.stat().st_mode)
            found[name] = (mode, path.read_bytes() if path.is_file() else None)
    return found


def left_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.glob("*"))


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "data/a/b.bin").write_bytes(b"\0\xfe" * 1000),
        lambda root: (root / "scripts/run.sh").chmod(0o644),
        lambda root: (root / "scripts/run.sh").rename(root / "scripts/other.sh"),
        lambda root: (root / "new").touch(),
        lambda root: (root / ".env").unlink(),
        lambda root: [(root / "link").unlink(), (root / "link").symlink_to("data")],
        lambda root: [(root / "link").unlink(), (root / "link").write_text("data/a")],
    ],
    ids=["content", "execute bit", "name", "new file", "removed file", "target of a link", "link made a file"],
)
def test_every_change_of_a_skill_changes_its_digest(skill: Skill, change: Callable[[Path], object]) -> None:
    digests = Digests()
    before = digests.of(skill.root)
    change(skill.root)
    assert digests.of(skill.root) == digest_of(skill.root) != before


def test_the_same_content_has_the_same_digest_wherever_it_lies(skill: Skill, tmp_path: Path) -> None:
    other = shutil.copytree(skill.root, tmp_path / "other", symlinks=True)
    for path in other.rglob("*"):
        os.utime(path, (0, 0), follow_symlinks=False)
    (other / "SKILL.md").chmod(0o600)
    assert digest_of(other) == digest_of(skill.root)
    assert len(digest_of(other)) == 64


def test_what_tools_leave_behind_is_not_in_the_digest(skill: Skill) -> None:
    before = digest_of(skill.root)
    for folder in ("venv", ".venv", "node_modules", "scripts/__pycache__", ".git"):
        write_skill(skill.root / folder, {"x": "1"})
    os.mkfifo(skill.root / "fifo")
    (skill.root / "empty").mkdir()
    assert digest_of(skill.root) == before


def test_the_order_in_which_files_were_made_does_not_count(tmp_path: Path) -> None:
    order = [f"{number % 7}{number}" for number in range(40)]
    one = write_skill(tmp_path / "one", {name: name for name in order})
    other = write_skill(tmp_path / "other", {name: name for name in reversed(order)})
    assert digest_of(one.root) == digest_of(other.root)


def test_names_and_contents_cannot_be_mistaken_for_each_other(tmp_path: Path) -> None:
    one = write_skill(tmp_path / "one", {"ab": "c", "d": ""})
    other = write_skill(tmp_path / "other", {"a": "bc", "d": ""})
    assert digest_of(one.root) != digest_of(other.root)


def test_a_digest_is_not_taken_again_while_nothing_changes(skill: Skill) -> None:
    for path in [skill.root, *skill.root.rglob("*")]:
        os.utime(path, (0, 0), follow_symlinks=False)
    digests = Digests()
    before = digests.of(skill.root)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:  # until the clock of the file system has moved on
        known = digests._known[skill.root]
        if known.is_settled:
            break
        digests.of(skill.root)
    assert digests.of(skill.root) == before
    assert digests._known[skill.root] is known


def test_a_copy_is_what_the_skill_was(skill: Skill, kept: Kept) -> None:
    digest = kept.keep(skill)
    assert digest == digest_of(skill.root)
    before = tree(skill.root)
    copy = kept.find(digest)
    assert copy is not None
    assert (copy.name, copy.parent.name) == ("calc", digest[:32])
    shutil.rmtree(skill.root)
    assert tree(copy) == before
    assert digest_of(copy) == digest


def test_another_state_is_another_copy(skill: Skill, kept: Kept) -> None:
    first = kept.keep(skill)
    (skill.root / "SKILL.md").write_text("Changed.")
    second = kept.keep(skill)
    assert first != second
    copies = [kept.find(digest) for digest in (first, second)]
    assert [copy and (copy / "SKILL.md").read_text() for copy in copies] == ["About.", "Changed."]


def test_what_is_neither_file_nor_link_and_what_is_regenerated_is_left_out(skill: Skill, kept: Kept) -> None:
    os.mkfifo(skill.root / "fifo")
    write_skill(skill.root, {".git/config": "", "__pycache__/x.pyc": ""})
    copy = kept.find(kept.keep(skill))
    assert copy is not None
    assert sorted(tree(copy)) == sorted(["SKILL.md", "scripts", "scripts/run.sh", "data", "data/a", "data/a/b.bin",
                                         ".env", "link"])  # fmt: skip


def _set_uid(root: Path) -> None:
    (root / "scripts/run.sh").chmod(0o4755)


@pytest.mark.parametrize(
    "make",
    [
        lambda root: write_skill(root, {"venv/bin/python": ""}),
        lambda root: write_skill(root, {"sub/.venv/x": ""}),
        lambda root: write_skill(root, {"node_modules/x": ""}),
        lambda root: write_skill(root, {"big": b"0" * 1_000_001}),
        lambda root: (root / "away").symlink_to("../other"),
        lambda root: (root / "away").symlink_to(root / "SKILL.md"),
        lambda root: os.link(root / "SKILL.md", root.parent / "second name"),
        _set_uid,
    ],
    ids=["venv", ".venv", "node_modules", "big", "link out", "absolute link", "hard link", "setuid"],
)
def test_what_would_not_be_the_same_elsewhere_is_not_copied(
    skill: Skill, tmp_path: Path, make: Callable[[Path], object]
) -> None:
    make(skill.root)
    kept = Kept(tmp_path / "kept", max_mb=1)
    digest = kept.keep(skill)
    assert digest == digest_of(skill.root)
    assert kept.find(digest) is None
    assert left_in(tmp_path / "kept") == []


def test_a_skill_of_too_many_files_is_not_copied(skill: Skill, tmp_path: Path) -> None:
    enough, few = (Kept(tmp_path / f"kept {number}", max_files=number) for number in (5, 4))
    assert enough.find(enough.keep(skill))
    assert few.find(few.keep(skill)) is None


def test_a_skill_that_is_gone_has_no_digest(skill: Skill, kept: Kept) -> None:
    shutil.rmtree(skill.root)
    assert kept.keep(skill) == ""
    for digest in ("", "..", "../../etc", "0" * 64):
        assert kept.find(digest) is None


def test_two_names_of_one_state_are_both_found(skill: Skill, kept: Kept) -> None:
    alias = Skill("alias", skill.root)
    version = write_skill(skill.root.parent / "calc@2.0.0", {})
    shutil.copytree(skill.root, version.root, symlinks=True, dirs_exist_ok=True)
    digests = {kept.keep(each) for each in (skill, alias, Skill("calc", version.root))}
    (digest,) = digests
    found = {name: kept.find(digest, name) for name in ("calc", "alias", "calc@2.0.0", "other")}
    assert {name: path and path.name for name, path in found.items()} == {
        "calc": "calc", "alias": "alias", "calc@2.0.0": "calc@2.0.0", "other": None,
    }  # fmt: skip


def test_a_copy_that_has_lost_its_content_is_made_again(skill: Skill, kept: Kept, tmp_path: Path) -> None:
    digest = kept.keep(skill)
    copy = kept.find(digest)
    assert copy is not None
    (copy / "SKILL.md").write_bytes(b"")
    started_again = Kept(tmp_path / "kept")
    assert started_again.find(digest) is None
    assert started_again.keep(skill) == digest
    assert (copy / "SKILL.md").read_text() == "About."


def test_several_workers_share_the_folder(skill: Skill, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    together = threading.Barrier(6)
    found: list[Path | None] = []

    def keep() -> None:
        kept = Kept(folder)
        together.wait()
        found.append(kept.find(kept.keep(skill)))

    threads = [threading.Thread(target=keep) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [folder / digest_of(skill.root)[:32] / "calc"] * 6
    assert left_in(folder) == [digest_of(skill.root)[:32]]


def test_a_copy_never_mixes_two_states(tmp_path: Path) -> None:
    """Two files are rewritten together again and again; whatever is kept under a digest has that digest."""
    skill = write_skill(tmp_path / "calc", {"a": "0", "b": "0"})
    kept = Kept(tmp_path / "kept")
    stop = threading.Event()

    def rewrite() -> None:
        for number in range(1_000_000):
            if stop.is_set():
                return
            for name in ("a", "b"):
                (skill.root / "next").write_text(str(number % 10))
                (skill.root / "next").rename(skill.root / name)

    writing = threading.Thread(target=rewrite)
    writing.start()
    try:
        for _ in range(30):
            kept.keep(skill)
    finally:
        stop.set()
        writing.join()
    assert all(digest_of(path / "calc")[:32] == path.name for path in (tmp_path / "kept").iterdir())
    assert not [name for name in left_in(tmp_path / "kept") if name.startswith(".tmp-")]


def test_copies_that_are_not_used_are_pruned(skill: Skill, kept: Kept, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    old = kept.keep(skill)
    (skill.root / "SKILL.md").write_text("Changed.")
    new = kept.keep(skill)
    abandoned = folder / ".tmp-1"
    abandoned.mkdir()
    for path in folder.iterdir():
        os.utime(path, (1, 1))
    assert kept.find(new)
    kept.prune(3_600)
    assert left_in(folder) == [new[:32]]
    assert kept.find(old) is None
    assert kept.find(new)
    Kept(tmp_path / "nowhere").prune(0)
