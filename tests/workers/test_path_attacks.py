"""What reads a skill reaches nothing outside of it, whatever its files are and however they change meanwhile."""

import itertools
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.workers.skill_folders import write_skill

from skillfleet_workers.skills.catalog import SkillCatalog
from skillfleet_workers.skills.digests import digest_of
from skillfleet_workers.skills.discovery import Found
from skillfleet_workers.skills.errors import PathSecurityError, ScriptNotFoundError, ScriptRefusedError
from skillfleet_workers.skills.imports import SkillImports
from skillfleet_workers.skills.kept import Kept
from skillfleet_workers.skills.models import Skill
from skillfleet_workers.skills.paths import document
from skillfleet_workers.skills.readings import Readings
from skillfleet_workers.skills.scripts import ScriptMetadata, find_script, read_script, scripts_of
from skillfleet_workers.wire.contract import Document, ToolError

SECRET = "top secret"


@pytest.fixture
def skill(tmp_path: Path) -> Skill:
    (tmp_path / "secret.py").write_text(f"# {SECRET}\n")
    return write_skill(tmp_path / "skills/calc", {"SKILL.md": "Adds.", "scripts/add.py": "# Adds.", "docs/a.md": "A"})


def error_of(skill: Skill, path: str) -> str:
    found = document(skill, path)
    assert isinstance(found, ToolError), found
    assert SECRET not in found.model_dump_json()
    return found.error


PATHS = {
    "..": "../../secret.py",
    "inner ..": "docs/../../../secret.py",
    "absolute": "{root}/SKILL.md",
    "absolute elsewhere": "/etc/hostname",
    "backslashes": "..\\..\\secret.py",
    "NUL": "SKILL.md\0.py",
    "percent-encoded": "%2e%2e/%2e%2e/secret.py",
    "percent-encoded whole": "..%2f..%2fsecret.py",
    "encoded twice": "%252e%252e/%252e%252e/secret.py",
    "home": "~/secret.py",
    "URL": "file:///etc/hostname",
    "wide dots": "．．/．．/secret.py",
}


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS.keys())
def test_a_path_that_leads_out_opens_nothing(skill: Skill, path: str) -> None:
    path = path.format(root=skill.root)
    assert error_of(skill, path) in ("path_outside_skill", "file_not_found")
    with pytest.raises((PathSecurityError, ScriptNotFoundError)):
        find_script(skill, path)


@pytest.mark.parametrize("name", ["../calc", "/etc", "%2e%2e", "%2e%2e%2fcalc", "calc%00", "calc\0", "CALC", "calc/"])
def test_a_name_that_is_a_path_or_another_spelling_finds_no_skill(skill: Skill, name: str) -> None:
    assert isinstance(SkillCatalog(skill.root.parent).find(name), ToolError)


def _symlink(path: Path, secret: Path) -> None:
    path.symlink_to(secret)


def _relative_symlink(path: Path, secret: Path) -> None:
    path.symlink_to(os.path.relpath(secret, path.parent))


def _chain(path: Path, secret: Path) -> None:
    path.with_suffix(".next").symlink_to(secret)
    path.symlink_to(path.with_suffix(".next").name)


def _fifo(path: Path, secret: Path) -> None:
    os.mkfifo(path)


def _device(path: Path, secret: Path) -> None:
    try:
        os.mknod(path, 0o20666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("no devices can be made here")


ATTACKS: dict[str, tuple[Callable[[Path, Path], object], str]] = {
    "symlink": (_symlink, "path_outside_skill"),
    "relative symlink": (_relative_symlink, "path_outside_skill"),
    "chain of symlinks": (_chain, "path_outside_skill"),
    "hard link": (lambda path, secret: os.link(secret, path), "file_hard_linked"),
    "FIFO": (_fifo, "not_a_file"),
    "device": (_device, "not_a_file"),
}


@pytest.fixture(params=list(ATTACKS.values()), ids=list(ATTACKS))
def attack(request: pytest.FixtureRequest) -> tuple[Callable[[Path, Path], object], str]:
    given: tuple[Callable[[Path, Path], object], str] = request.param
    return given


def test_a_document_that_is_no_file_of_the_skill_alone_is_refused(
    skill: Skill, attack: tuple[Callable[[Path, Path], object], str]
) -> None:
    make, error = attack
    make(skill.root / "docs/attack.md", skill.root.parents[1] / "secret.py")
    assert error_of(skill, "docs/attack.md") == error


def test_a_script_that_is_no_file_of_the_skill_alone_is_neither_listed_nor_read(
    skill: Skill, attack: tuple[Callable[[Path, Path], object], str]
) -> None:
    make, _ = attack
    make(skill.root / "scripts/attack.py", skill.root.parents[1] / "secret.py")
    assert [script.name for script in scripts_of(skill)] == ["add"]
    with pytest.raises(ScriptRefusedError) as refused:
        find_script(skill, "attack")
    assert SECRET not in str(refused.value)
    with pytest.raises(ScriptRefusedError):
        read_script(skill, ScriptMetadata("attack", Path("scripts/attack.py"), "python", ""))


def test_a_skill_whose_documentation_is_no_file_of_its_alone_is_skipped(
    skill: Skill, attack: tuple[Callable[[Path, Path], object], str]
) -> None:
    make, _ = attack
    folder = write_skill(skill.root.parent / "thief", {}).root
    make(folder / "SKILL.md", skill.root.parents[1] / "secret.py")
    catalog = SkillCatalog(skill.root.parent)
    assert [each.name for each in catalog.list()] == ["calc"]
    assert list(catalog.skipped) == ["thief"]
    assert SECRET not in catalog.skipped["thief"]


def test_no_copy_has_what_is_no_file_of_the_skill_alone(
    skill: Skill, tmp_path: Path, attack: tuple[Callable[[Path, Path], object], str]
) -> None:
    make, _ = attack
    secret = skill.root.parents[1] / "secret.py"
    make(skill.root / "docs/attack.md", secret)
    kept = Kept(tmp_path / "kept")
    copy = kept.find(kept.keep(skill))
    assert copy is None or not os.path.lexists(copy / "docs/attack.md")
    assert not [path for path in (tmp_path / "kept").rglob("*") if path.is_file() and SECRET in path.read_text()]


def test_what_scripts_import_is_not_looked_for_in_what_is_no_file_of_the_skill_alone(
    skill: Skill, attack: tuple[Callable[[Path, Path], object], str]
) -> None:
    make, _ = attack
    secret = skill.root.parents[1] / "secret.py"
    secret.write_text("import decimal")
    make(skill.root / "scripts/attack.py", secret)
    assert SkillImports().of(skill, "import json") == ("json",)


def test_what_lies_outside_is_not_in_the_digest(skill: Skill) -> None:
    secret = skill.root.parents[1] / "secret.py"
    _symlink(skill.root / "link", secret)
    _symlink(skill.root / "folder", skill.root.parents[1])
    os.mkfifo(skill.root / "fifo")
    before = digest_of(skill.root)
    secret.write_text("changed")
    assert digest_of(skill.root) == before


def swaps(root: Path, secret: Path) -> Iterator[Callable[[], object]]:
    """A file, then a folder, again and again made a symlink out of the skill, a FIFO, and what it was."""
    file, folder, next_one = root / "docs/a.md", root / "docs", root / "next"

    def become(make: Callable[[], object]) -> None:
        make()
        next_one.rename(file)

    for make in itertools.cycle(
        (lambda: next_one.symlink_to(secret), lambda: os.mkfifo(next_one), lambda: next_one.write_text("A"))
    ):
        yield lambda make=make: become(make)  # type: ignore[misc]
        yield lambda: folder.rename(root / "away")
        yield lambda: folder.symlink_to(secret.parent)
        yield lambda: folder.unlink()
        yield lambda: (root / "away").rename(folder)


def test_a_file_swapped_while_it_is_read_never_brings_in_what_lies_outside(skill: Skill, tmp_path: Path) -> None:
    secret = skill.root.parents[1] / "secret.py"
    (secret.parent / "a.md").write_text(SECRET)
    kept = Kept(tmp_path / "kept")
    stop = threading.Event()

    def keep_swapping() -> None:
        for swap in swaps(skill.root, secret):
            if stop.is_set() and not (skill.root / "docs").is_symlink() and (skill.root / "docs").exists():
                return
            swap()

    swapping = threading.Thread(target=keep_swapping)
    swapping.start()
    seen = set[str]()
    digests = set[str]()
    try:
        for tries in range(20_000):
            found = document(skill, "docs/a.md")
            seen.add(found.text if isinstance(found, Document) else found.error)
            if tries % 20 == 0:
                digests.add(kept.keep(skill))
            if tries > 600 and seen >= {"A", "path_outside_skill", "not_a_file"}:
                break
    finally:
        stop.set()
        swapping.join()
    assert seen >= {"A", "path_outside_skill", "not_a_file"}
    assert SECRET not in "".join(seen)
    copies = [path for path in (tmp_path / "kept").rglob("*") if path.is_file() and not path.is_symlink()]
    assert copies
    assert not [path for path in copies if SECRET in path.read_text()]


def test_a_skill_swapped_for_a_symlink_while_it_is_found_is_never_one_from_outside(tmp_path: Path) -> None:
    root = tmp_path / "skills"
    write_skill(tmp_path / "outside", {"SKILL.md": SECRET})
    write_skill(root / "calc", {"SKILL.md": "Adds."})
    stop = threading.Event()

    def keep_swapping() -> None:
        while not stop.is_set():
            (root / "calc").rename(root / ".away")
            (root / "calc").symlink_to(tmp_path / "outside")
            (root / "calc").unlink()
            (root / ".away").rename(root / "calc")

    swapping = threading.Thread(target=keep_swapping)
    swapping.start()
    seen = set[str]()
    try:
        for tries in range(20_000):
            catalog = SkillCatalog(root)
            skills = catalog.list()
            seen |= {skill.description for skill in skills} or set(catalog.skipped.values()) or {""}
            assert all(skill.root.is_relative_to(root) for skill in skills)
            if tries > 300 and len(seen) > 1 and "Adds." in seen:
                break
    finally:
        stop.set()
        swapping.join()
    assert "Adds." in seen
    assert SECRET not in "".join(seen)


def test_a_folder_that_was_a_folder_when_it_was_found_and_is_a_symlink_now_is_no_skill(tmp_path: Path) -> None:
    write_skill(tmp_path / "outside", {"SKILL.md": SECRET})
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills/calc").symlink_to(tmp_path / "outside")
    found = Found(tmp_path / "skills/calc", "calc", ())
    assert Readings(tmp_path / "skills", "project").of([found], {}) == []


def test_of_two_names_that_differ_only_by_case_one_is_refused(tmp_path: Path) -> None:
    for name in ("calc", "CALC", "cafe\u0301", "caf\u00e9"):
        write_skill(tmp_path / name, {"SKILL.md": name})
    catalog = SkillCatalog(tmp_path)
    assert [skill.name for skill in catalog.list()] == ["CALC", "cafe\u0301"]
    assert set(catalog.skipped) == {"calc", "caf\u00e9"}
    assert isinstance(refused := catalog.find("calc"), ToolError)
    assert refused.error == "skill_not_readable"
