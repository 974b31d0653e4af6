"""A conversation finds its skills as they were when it began, and workers publish the states that there are."""

import shutil
import sys
from pathlib import Path

import pytest
from tests.workers.skill_folders import write_skill

from skillfleet_workers.runtimes.base import RunRequest
from skillfleet_workers.runtimes.warm.runtime import WarmRuntime
from skillfleet_workers.skills.catalog import SkillCatalog
from skillfleet_workers.skills.digests import digest_of
from skillfleet_workers.skills.kept import Kept
from skillfleet_workers.skills.models import Skill
from skillfleet_workers.skills.paths import document
from skillfleet_workers.skills.publishing import Publishing, snapshot_of
from skillfleet_workers.skills.roots import Root
from skillfleet_workers.wire.contract import Document, ToolError
from skillfleet_workers.wire.published import Snapshot


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "skills"


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path / "kept")


def write(folder: Path, text: str, version: str = "1.0.0") -> Skill:
    return write_skill(folder, {"SKILL.md": f"---\ndescription: D\nversion: {version}\n---\n{text}", "run.py": text})


def text_of(found: Skill | ToolError) -> str:
    assert isinstance(found, Skill), found
    piece = document(found, "run.py")
    assert isinstance(piece, Document), piece
    return piece.text


def error_of(found: Skill | ToolError) -> str:
    assert isinstance(found, ToolError), found
    return found.error


def test_a_skill_is_found_as_it_was(root: Path, kept: Kept) -> None:
    digest = kept.keep(write(root / "calc", "first"))
    catalog = SkillCatalog(root, kept=kept)
    write(root / "calc", "second", "2.0.0")
    older = catalog.find("calc", None, digest)
    assert text_of(older) == "first"
    assert isinstance(older, Skill)
    assert (older.name, older.version, older.description) == ("calc", "1.0.0", "D")
    assert text_of(catalog.find("calc")) == "second"
    shutil.rmtree(root / "calc")
    assert text_of(catalog.find("calc", ("calc",), digest)) == "first"
    assert error_of(catalog.find("calc")) == "unknown_skill"


def test_what_was_not_kept_is_used_as_long_as_it_is_the_same(root: Path, kept: Kept) -> None:
    skill = write(root / "calc", "first")
    write_skill(skill.root, {"venv/lib/x.py": ""})
    digest = kept.keep(skill)
    catalog = SkillCatalog(root, kept=kept)
    found = catalog.find("calc", None, digest)
    assert isinstance(found, Skill)
    assert found.root == root / "calc"
    (root / "calc/run.py").write_text("second")
    changed = catalog.find("calc", None, digest)
    assert isinstance(changed, ToolError)
    assert changed.error == "skill_changed"
    assert "has changed since this conversation began" in changed.message
    (root / "calc/run.py").write_text("first")
    assert text_of(catalog.find("calc", None, digest)) == "first"


def test_an_older_version_is_found_by_its_state(root: Path) -> None:
    older = write(root / "calc@1.0.0", "older")
    write(root / "calc", "newer", "2.0.0")
    catalog = SkillCatalog(root)
    assert text_of(catalog.find("calc")) == "newer"
    assert text_of(catalog.find("calc", None, digest_of(older.root))) == "older"


def test_a_state_does_not_open_what_is_not_allowed(root: Path, kept: Kept) -> None:
    digest = kept.keep(write(root / "calc", "first"))
    other = kept.keep(write(root / "other", "else"))
    catalog = SkillCatalog(root, kept=kept)
    assert error_of(catalog.find("calc", ("other",), digest)) == "unknown_skill"
    assert error_of(catalog.find("other", ("other",), digest)) == "skill_changed"
    assert text_of(catalog.find("other", ("other",), other)) == "else"
    assert error_of(catalog.find("calc", ("calc@2.0.0",), digest)) == "skill_changed"
    assert text_of(catalog.find("calc@1.0.0", ("calc@1.0.0",), digest)) == "first"


@pytest.mark.parametrize("digest", ["..", "../../skills", "/", "\0", "x" * 300, "é"])
def test_a_digest_that_is_none_finds_nothing(root: Path, kept: Kept, digest: str) -> None:
    write(root / "calc", "first")
    assert error_of(SkillCatalog(root, kept=kept).find("calc", None, digest)) == "skill_changed"


def test_a_copy_runs_in_the_sandbox(root: Path, kept: Kept, warm_runtime: WarmRuntime) -> None:
    digest = kept.keep(write(root / "calc", "print(open('run.py').read())"))
    write(root / "calc", "print('second')", "2.0.0")
    found = SkillCatalog(root, kept=kept).find("calc", None, digest)
    assert isinstance(found, Skill)
    path = {"PATH": "/usr/bin:/bin"}
    ran = warm_runtime.run(RunRequest("calc", found.root, Path(sys.executable), Path("run.py"), path, 30))
    assert ran.stdout.strip() == "print(open('run.py').read())", ran
    assert digest_of(found.root) == digest


def test_every_version_is_published(root: Path, tmp_path: Path, kept: Kept) -> None:
    write(root / "calc", "newer", "2.0.0")
    older = write(root / "calc@1.0.0", "older")
    write(tmp_path / "user/group/maps", "maps")
    write_skill(root / "bare", {"run.py": ""})
    catalog = SkillCatalog([Root("project", root), Root("user", tmp_path / "user")], kept=kept)
    snapshot = snapshot_of(
        catalog,
        why_not=lambda skill: "no bash" if skill.name == "maps" else None,
        route_of=lambda skill: "gpu" if skill.version == "1.0.0" else "",
        keep=kept.keep,
    )
    assert [(s.name, s.version, s.location, s.eligible, s.reason, s.route) for s in snapshot.skills] == [
        ("bare", "0.0.0", "project/bare", True, "", ""),
        ("calc", "1.0.0", "project/calc@1.0.0/SKILL.md", True, "", "gpu"),
        ("calc", "2.0.0", "project/calc/SKILL.md", True, "", ""),
        ("maps", "1.0.0", "user/group/maps/SKILL.md", False, "no bash", "gpu"),
    ]
    assert snapshot.skills[1].digest == digest_of(older.root)
    for skill in snapshot.skills:
        assert isinstance(catalog.find(f"{skill.name}@{skill.version}", None, skill.digest), Skill)


def test_the_same_skills_are_the_same_snapshot(root: Path, kept: Kept) -> None:
    write(root / "calc", "first")
    publishing = Publishing(SkillCatalog(root), lambda _: None, lambda _: "", kept.keep)
    before = publishing.snapshot()
    assert publishing.snapshot() is before
    (root / "calc/run.py").write_text("second")
    after = publishing.snapshot()
    assert after.id != before.id
    assert Snapshot.model_validate_json(after.model_dump_json()).id == after.id
    assert kept.find(before.skills[0].digest)
