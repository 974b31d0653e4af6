"""What changes on disk is seen: by looking, and by being told."""

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.conftest import Require
from tests.workers.skill_folders import write_skill

from skillfleet_workers.skills.catalog import SkillCatalog
from skillfleet_workers.skills.roots import Root
from skillfleet_workers.skills.stamps import settled
from skillfleet_workers.skills.watching import Watching, matters

LONG_S = 60.0


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONG_S
    while not holds():
        assert time.monotonic() < deadline, "it has not come true"
        time.sleep(0.01)


def names(catalog: SkillCatalog) -> list[str]:
    return [skill.name for skill in catalog.list()]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("group/alpha", "group/beta", "gamma"):
        write_skill(tmp_path / "skills" / name, {"SKILL.md": f"About {name}.", "scripts/run.py": "1"})
    return tmp_path / "skills"


def test_every_change_is_seen_by_looking(root: Path) -> None:
    catalog = SkillCatalog(root)
    assert names(catalog) == ["alpha", "beta", "gamma"]
    write_skill(root / "group/new/inner", {"SKILL.md": "x"})
    assert names(catalog) == ["alpha", "beta", "gamma", "inner"]
    shutil.rmtree(root / "group")
    assert names(catalog) == ["gamma"]
    write_skill(root / "bare", {"a/b.txt": ""})
    assert names(catalog) == ["bare", "gamma"]
    write_skill(root / "bare/a/skill", {"SKILL.md": "x"})
    assert names(catalog) == ["gamma", "skill"]
    (root / "bare/a/skill/SKILL.md").unlink()
    assert names(catalog) == ["bare", "gamma"]


def test_a_rewrite_that_leaves_size_and_time_alone_is_seen(root: Path) -> None:
    """Clocks of file systems tick."""
    catalog = SkillCatalog(root)
    file = root / "gamma/SKILL.md"
    for text in ("One.", "Two.", "Six.") * 20:
        file.write_text(text)
        assert {skill.name: skill.description for skill in catalog.list()}["gamma"] == text


def test_a_root_that_is_a_symlink_may_be_turned(root: Path) -> None:
    write_skill(root.parent / "next/delta", {"SKILL.md": "x"})
    link = root.parent / "link"
    link.symlink_to(root)
    catalog = SkillCatalog(link)
    assert names(catalog) == ["alpha", "beta", "gamma"]
    link.unlink()
    link.symlink_to("next")
    assert names(catalog) == ["delta"]


def test_threads_see_whole_states(root: Path) -> None:
    catalog = SkillCatalog(root)
    stop = threading.Event()
    seen = set[tuple[str, ...]]()
    failed: list[BaseException] = []

    def look() -> None:
        try:
            while not stop.is_set():
                seen.add(tuple(names(catalog)))
                catalog.find("gamma")
        except BaseException as wrong:
            failed.append(wrong)
            raise

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(100):
        (root / "gamma").rename(root / "delta")
        (root / "delta").rename(root / "gamma")
    stop.set()
    for thread in threads:
        thread.join()
    assert not failed
    assert seen <= {("alpha", "beta", "delta"), ("alpha", "beta", "gamma"), ("alpha", "beta")}


@pytest.fixture
def watching(root: Path) -> Iterator[Watching]:
    with Watching([root]) as watching:
        until(lambda: watching.mark is not None)
        yield watching


def test_changes_are_told(root: Path, watching: Watching) -> None:
    catalog = SkillCatalog(root, watching=watching)
    assert names(catalog) == ["alpha", "beta", "gamma"]
    write_skill(root / "group/new/inner", {"SKILL.md": "x"})
    until(lambda: names(catalog) == ["alpha", "beta", "gamma", "inner"])
    (root / "gamma/SKILL.md").write_text("Changed.")
    until(lambda: catalog.list()[2].description == "Changed.")
    shutil.rmtree(root / "group")
    until(lambda: names(catalog) == ["gamma"])
    assert not os.path.lexists(root / "group")


def test_the_change_of_any_file_of_a_skill_is_a_new_generation(root: Path, watching: Watching) -> None:
    catalog = SkillCatalog(root, watching=watching)
    before = catalog.generation
    (root / "gamma/scripts/run.py").write_text("2")
    until(lambda: catalog.generation > before)


def test_nothing_is_looked_at_while_nothing_is_told(root: Path) -> None:
    """The root is swapped for another one, which nobody tells: only a slow look finds out."""
    write_skill(root.parent / "next/delta", {"SKILL.md": "x"})
    link = root.parent / "link"
    link.symlink_to(root)
    with Watching([link]) as watching:
        until(lambda: watching.mark is not None)
        catalog = SkillCatalog(link, watching=watching)
        before, generation = catalog.list(), catalog.generation
        link.unlink()
        link.symlink_to("next")
        assert catalog.list() == before
        assert catalog.generation == generation


def test_what_nobody_tells_is_found_by_a_slow_look(root: Path) -> None:
    link = root.parent / "link"
    with Watching([link, root], looks_every_s=0.2) as watching:
        until(lambda: watching.mark is not None)
        catalog = SkillCatalog(link, watching=watching)
        assert names(catalog) == []
        link.symlink_to(root)
        until(lambda: names(catalog) == ["alpha", "beta", "gamma"])


def test_a_root_that_is_made_later_is_watched_from_then_on(root: Path) -> None:
    later = root.parent / "later"
    with Watching([later, root]) as watching:
        until(lambda: watching.mark is not None)
        catalog = SkillCatalog([Root("project", later), Root("user", root)], watching=watching)
        write_skill(later / "delta", {"SKILL.md": "x"})
        (root / "gamma/SKILL.md").touch()
        until(lambda: "delta" in names(catalog))
        write_skill(later / "epsilon", {"SKILL.md": "x"})
        until(lambda: "epsilon" in names(catalog))


@pytest.mark.parametrize(("age_s", "is_settled"), [(0, False), (-10, False), (10, True)])
def test_what_has_changed_just_now_may_change_again_unseen(age_s: int, is_settled: bool) -> None:
    then = time.time_ns() - age_s * 1_000_000_000
    assert settled((1, 2, 3, 4, 0, then)) is is_settled
    assert settled(())


@pytest.mark.parametrize(
    ("path", "counts"),
    [
        ("gamma/scripts/run.py", True),
        ("gamma", True),
        ("gamma/.env", True),
        ("..data", True),
        ("gamma/.git/index", False),
        ("gamma/venv/lib/x.py", False),
        ("gamma/scripts/__pycache__/run.pyc", False),
        ("../elsewhere/run.py", False),
    ],
)
def test_what_happens_in_folders_of_tools_does_not_count(path: str, counts: bool) -> None:
    root = Path("/home/.config/skills")
    assert matters(os.path.normpath(root / path), [root]) is counts


def test_who_no_longer_watches_looks(root: Path) -> None:
    watching = Watching([root])
    with watching:
        until(lambda: watching.mark is not None)
        catalog = SkillCatalog(root, watching=watching)
        catalog.list()
    assert watching.mark is None
    shutil.rmtree(root / "group")
    assert names(catalog) == ["gamma"]


OUT_OF_WATCHES = """
import logging, sys, time
from pathlib import Path
from skillfleet_workers.skills.watching import Watching

Path("/proc/sys/user/max_inotify_watches").write_text("2")
logging.basicConfig(stream=sys.stdout)
with Watching([Path(sys.argv[1])], looks_every_s=0.01) as watching:
    deadline = time.monotonic() + 1
    while watching.mark is None and time.monotonic() < deadline:
        time.sleep(0.01)
    print(watching.mark)
"""


def test_where_the_system_has_too_few_watches_changes_are_looked_for(root: Path, require: Require) -> None:
    unshare = shutil.which("unshare") or ""
    command = [unshare, "--user", "--map-root-user"]
    able = bool(unshare) and not subprocess.run([*command, "true"], capture_output=True, check=False).returncode
    require(able, "user namespaces")
    done = subprocess.run(
        [*command, sys.executable, "-c", OUT_OF_WATCHES, root], capture_output=True, text=True, check=True
    )
    (told, mark) = done.stdout.splitlines()
    assert "cannot be watched" in told
    assert mark == "None"
