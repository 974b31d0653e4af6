"""Several roots, several versions, and folders of skills."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.workers.skill_folders import write_skill

from skillfleet_workers.settings import SYSTEM_SKILLS, WorkerSettings
from skillfleet_workers.skills.catalog import SkillCatalog
from skillfleet_workers.skills.discovery import MAX_LEVELS, MAX_SKILLS
from skillfleet_workers.skills.models import Skill
from skillfleet_workers.skills.roots import Root, roots_of
from skillfleet_workers.wire.contract import ToolError

GOOD = "---\ndescription: {0}\n---\n"


def write(folder: Path, description: str = "Good.", version: str = "") -> None:
    write_skill(folder, {"SKILL.md": f"---\ndescription: {description}\n{version and f'version: {version}'}\n---\n"})


def names(catalog: SkillCatalog) -> list[str]:
    return [skill.name for skill in catalog.list()]


def found(catalog: SkillCatalog, name: str) -> Skill:
    skill = catalog.find(name)
    assert isinstance(skill, Skill), skill
    return skill


def reasons(catalog: SkillCatalog) -> Mapping[str, str]:
    return {skip.name: skip.problems[0].code for skip in catalog.skips}


@pytest.fixture
def roots(tmp_path: Path) -> tuple[Root, Root, Root]:
    return (
        Root("project", tmp_path / "project"),
        Root("user", tmp_path / "user"),
        Root("system", tmp_path / "system"),
    )


def test_the_first_root_that_has_a_name_shadows_the_others(roots: tuple[Root, Root, Root]) -> None:
    project, user, system = (root.path for root in roots)
    write(project / "calc", "The project's.")
    write(user / "calc", "The user's.", "9.0.0")
    write(user / "charts", "The user's.")
    write(system / "Charts", "The system's.")
    write(system / "maps", "The system's.")
    catalog = SkillCatalog(roots)
    assert {(skill.name, skill.scope, skill.description) for skill in catalog.list()} == {
        ("calc", "project", "The project's."),
        ("charts", "user", "The user's."),
        ("maps", "system", "The system's."),
    }
    assert [(each.name, each.root, each.by) for each in catalog.shadowed] == [
        ("calc", user / "calc", project / "calc"),
        ("Charts", system / "Charts", user / "charts"),
    ]
    assert catalog.shadowed[0].problem.code == "shadowed"
    assert str(user / "calc") in str(catalog.shadowed[0].problem)
    assert isinstance(catalog.find("calc@9.0.0"), ToolError)


def test_a_skill_that_cannot_be_read_shadows_too(roots: tuple[Root, Root, Root]) -> None:
    write_skill(roots[0].path / "calc", {"SKILL.md": "---\n---\n"})
    write(roots[1].path / "calc")
    catalog = SkillCatalog(roots)
    broken = catalog.find("calc")
    assert isinstance(broken, ToolError)
    assert broken.error == "skill_not_readable"
    assert [each.name for each in catalog.shadowed] == ["calc"]


def test_roots_that_are_missing_have_no_skills_until_they_are_made(roots: tuple[Root, Root, Root]) -> None:
    catalog = SkillCatalog(roots)
    assert catalog.list() == ()
    write(roots[2].path / "maps")
    assert names(catalog) == ["maps"]


def test_the_roots_of_the_user_and_the_system_come_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert [(root.scope, root.path) for root in roots_of(WorkerSettings())] == [
        ("project", Path("skills")),
        ("user", tmp_path / "config/skillfleet/skills"),
        ("system", SYSTEM_SKILLS),
    ]
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME")
    assert WorkerSettings().user_skills == tmp_path / ".config/skillfleet/skills"
    monkeypatch.setenv("SKILLFLEET_USER_SKILLS_PATH", "~/mine")
    monkeypatch.setenv("SKILLFLEET_SYSTEM_SKILLS_PATH", "/srv/skills")
    settings = WorkerSettings()
    assert (settings.user_skills, settings.system_skills) == (tmp_path / "mine", Path("/srv/skills"))


def test_versions_lie_side_by_side_and_the_highest_is_meant(tmp_path: Path) -> None:
    write(tmp_path / "calc", version="1.10.0")
    write(tmp_path / "calc@1.9.0")
    write(tmp_path / "old" / "calc@0.1")
    write(tmp_path / "odd@someday")
    catalog = SkillCatalog(tmp_path)
    assert names(catalog) == ["calc", "odd"]
    assert found(catalog, "calc").root == tmp_path / "calc"
    assert found(catalog, "calc@1.9.0").root == tmp_path / "calc@1.9.0"
    assert found(catalog, "calc@0.1.0").root == tmp_path / "old/calc@0.1"
    assert found(catalog, "odd").version == "someday"
    assert [(skill.name, skill.version) for skill in catalog.versions] == [
        ("calc", "0.1"), ("calc", "1.9.0"), ("calc", "1.10.0"), ("odd", "someday"),
    ]  # fmt: skip
    unknown = catalog.find("calc@2.0.0")
    assert isinstance(unknown, ToolError)
    assert unknown.error == "unknown_skill"


def test_one_version_may_be_all_that_is_allowed(tmp_path: Path) -> None:
    write(tmp_path / "calc", version="2.0.0")
    write(tmp_path / "calc@1.0.0")
    catalog = SkillCatalog(tmp_path)
    allowed = ("calc@1.0.0",)
    assert [skill.version for skill in catalog.list(allowed)] == ["1.0.0"]
    assert isinstance(older := catalog.find("calc", allowed), Skill)
    assert older.version == "1.0.0"
    assert isinstance(catalog.find("calc@2.0.0", allowed), ToolError)


def test_one_version_twice_is_refused_and_the_first_holds(tmp_path: Path) -> None:
    write(tmp_path / "a" / "calc", version="1.0.0")
    write(tmp_path / "b" / "calc", version="1.0.0")
    catalog = SkillCatalog(tmp_path)
    assert found(catalog, "calc").root == tmp_path / "a/calc"
    assert [(skip.root, skip.problems[0].code) for skip in catalog.skips] == [(tmp_path / "b/calc", "duplicate")]


def test_names_that_differ_only_by_case_are_refused_and_the_first_holds(tmp_path: Path) -> None:
    for name in ("Calc", "calc", "straße", "STRASSE"):
        write(tmp_path / name)
    catalog = SkillCatalog(tmp_path)
    assert names(catalog) == ["Calc", "STRASSE"]
    assert reasons(catalog) == {"calc": "case-twin", "straße": "case-twin"}
    assert "'Calc'" in catalog.skipped["calc"]


def test_a_folder_of_skills_is_only_a_container(tmp_path: Path) -> None:
    write(tmp_path / "office" / "pdf")
    write(tmp_path / "office" / "deep" / "er" / "docx")
    write(tmp_path / "office" / "pdf" / "examples" / "inner")
    write_skill(tmp_path / "bare", {"src/run.py": ""})
    for name in (".git", "node_modules", "venv", ".venv", "__pycache__"):
        write(tmp_path / "office" / name / "hidden")
    write_skill(tmp_path / "office" / "env", {"pyvenv.cfg": "", "lib/pkg/SKILL.md": "x"})
    assert names(SkillCatalog(tmp_path)) == ["bare", "docx", "pdf"]


def test_a_root_is_no_skill_whatever_lies_in_it(tmp_path: Path) -> None:
    write(tmp_path)
    write(tmp_path / "calc")
    assert names(SkillCatalog(tmp_path)) == ["calc"]


def test_what_lies_too_deep_is_left_out_and_told_once(tmp_path: Path) -> None:
    reachable = Path(tmp_path, *"abcdef"[: MAX_LEVELS - 1])
    write(reachable / "near")
    write(reachable / "x" / "far")
    write(reachable / "y" / "z" / "further")
    catalog = SkillCatalog(tmp_path)
    assert names(catalog) == ["near"]
    (problem,) = catalog.problems
    assert problem.code == "too-deep"
    assert "2 skills" in problem.message
    assert problem.file == "a/b/c/d/e/x/far"


def test_of_too_many_skills_the_last_are_left_out(tmp_path: Path) -> None:
    for number in range(MAX_SKILLS + 2):
        (tmp_path / f"s{number:04}").mkdir()
    catalog = SkillCatalog(tmp_path)
    assert len(catalog.list()) == MAX_SKILLS
    (problem,) = catalog.problems
    assert (problem.code, problem.file) == ("too-many-skills", f"s{MAX_SKILLS}")


def test_symlinks_name_skills_again_and_loops_end(tmp_path: Path) -> None:
    root = tmp_path / "skills"
    write(root / "group" / "calc")
    write_skill(root / "bare", {"x.py": ""})
    (root / "alias").symlink_to("group/calc")
    (root / "other").symlink_to("group")
    (root / "again").symlink_to("bare")
    (root / "group" / "loop").symlink_to("..")
    (root / "group" / "self").symlink_to("../group")
    (root / "group" / "dangling").symlink_to("nowhere")
    catalog = SkillCatalog(root)
    assert names(catalog) == ["again", "alias", "bare", "calc"]
    assert found(catalog, "alias").root == root / "group/calc"
    assert not catalog.skips


def test_what_is_linked_from_a_hidden_folder_is_found(tmp_path: Path) -> None:
    """As Kubernetes mounts a config map."""
    write(tmp_path / "..2026" / "group" / "calc")
    (tmp_path / "..data").symlink_to("..2026")
    (tmp_path / "group").symlink_to("..data/group")
    catalog = SkillCatalog(tmp_path)
    assert names(catalog) == ["calc"]


def test_what_several_symlinks_lead_to_is_found_once(tmp_path: Path) -> None:
    write(tmp_path / ".hidden" / "group" / "calc")
    (tmp_path / "a").symlink_to(".hidden/group")
    (tmp_path / "b").symlink_to(".hidden")
    catalog = SkillCatalog(tmp_path)
    assert names(catalog) == ["calc"]
    assert not catalog.skips


def test_a_symlink_out_of_a_root_is_refused_where_it_would_be_a_skill(tmp_path: Path) -> None:
    write(tmp_path / "outside")
    root = tmp_path / "skills"
    write(root / "group" / "calc")
    write_skill(root / "bare", {"x.py": ""})
    for place in ("away", "group/astray", "bare/data"):
        (root / place).symlink_to(tmp_path / "outside")
    catalog = SkillCatalog(root)
    assert names(catalog) == ["bare", "calc"]
    assert sorted(catalog.skipped) == ["astray", "away"]


def test_a_name_that_is_not_text_is_refused_however_deep(tmp_path: Path) -> None:
    write(tmp_path / "group" / os.fsdecode(b"\xff"))
    catalog = SkillCatalog(tmp_path)
    assert names(catalog) == []
    assert list(catalog.skipped) == ["\ufffd"]
