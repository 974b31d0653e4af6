import os
import shutil
from pathlib import Path

import pytest
from tests.workers.skill_folders import write_skill

from skillfleet_workers.skills.catalog import SkillCatalog
from skillfleet_workers.skills.models import NO_DESCRIPTION, Skill
from skillfleet_workers.wire.contract import ToolError

GOOD = "---\nname: {0}\ndescription: All about {0}.\n---\n# {0}\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "skills"
    for name in ("zebra", "alpha", "middle"):
        write_skill(root / name, {"SKILL.md": GOOD.format(name)})
    return root


def names(catalog: SkillCatalog, allowed: tuple[str, ...] | None = None) -> list[str]:
    return [skill.name for skill in catalog.list(allowed)]


def error_of(found: Skill | ToolError) -> ToolError:
    assert isinstance(found, ToolError), found
    found.model_dump_json()
    return found


def test_skills_are_listed_by_name(root: Path) -> None:
    skills = SkillCatalog(root).list(None)
    assert [(s.name, s.description) for s in skills] == [
        (name, f"All about {name}.") for name in ("alpha", "middle", "zebra")
    ]
    assert skills[0].root == (root / "alpha").resolve()


def test_only_allowed_skills_are_listed(root: Path) -> None:
    assert names(SkillCatalog(root), ("zebra", "nothing")) == ["zebra"]
    assert names(SkillCatalog(root), ()) == []


@pytest.mark.parametrize("name", ["SKILL.md", "skill.md", "SKILL.MD", "Skill.Md"])
def test_the_documentation_is_found_however_it_is_spelled(tmp_path: Path, name: str) -> None:
    write_skill(tmp_path / "calc", {name: "# Calc\n\nAdds."})
    (skill,) = SkillCatalog(tmp_path).list()
    assert (skill.documentation, skill.description) == (name, "Adds.")


def test_the_usual_spelling_is_preferred(tmp_path: Path) -> None:
    write_skill(tmp_path / "calc", {"SKILL.MD": "Upper.", "SKILL.md": "Usual.", "skill.md": "Lower."})
    assert SkillCatalog(tmp_path).list()[0].description == "Usual."


def test_a_folder_without_documentation_is_a_skill(tmp_path: Path) -> None:
    write_skill(tmp_path / "bare", {"run.py": ""})
    (skill,) = SkillCatalog(tmp_path).list()
    assert (skill.documentation, skill.description) == (None, NO_DESCRIPTION)


def test_files_and_folders_of_tools_are_no_skills(root: Path) -> None:
    for name in (".git", "venv", ".venv", "node_modules", "__pycache__"):
        write_skill(root / name, {"SKILL.md": GOOD.format(name)})
        assert error_of(SkillCatalog(root).find(name)).error == "unknown_skill"
    (root / "README.md").write_text("Not a skill.")
    assert names(SkillCatalog(root)) == ["alpha", "middle", "zebra"]
    assert not SkillCatalog(root).skipped


def test_there_are_no_skills_where_there_is_no_folder(tmp_path: Path) -> None:
    catalog = SkillCatalog(tmp_path / "later")
    assert catalog.list() == ()
    assert error_of(catalog.find("calc")).error == "unknown_skill"
    write_skill(tmp_path / "later" / "calc", {"SKILL.md": "Adds."})
    assert names(catalog) == ["calc"]


def test_a_folder_that_cannot_be_a_skill_is_skipped_with_the_reason(root: Path) -> None:
    write_skill(root / "bad-yaml", {"SKILL.md": "---\ndescription: [x\n---\n"})
    write_skill(root / "nameless", {"SKILL.md": "---\nname: nameless\n---\n"})
    write_skill(root / "folder", {"SKILL.md/x": ""})
    write_skill(root / "fifo", {})
    os.mkfifo(root / "fifo" / "SKILL.md")
    write_skill(root / "thief", {})
    (root / "thief" / "SKILL.md").symlink_to("/etc/passwd")
    (root / os.fsdecode(b"\xff")).mkdir()
    (root / "dangling").symlink_to("nowhere")
    (root / "loop").symlink_to("loop")
    catalog = SkillCatalog(root)
    for _ in range(2):
        assert names(catalog) == ["alpha", "middle", "zebra"]
        assert set(catalog.skipped) == {"bad-yaml", "nameless", "folder", "fifo", "thief", "\ufffd", "loop"}
    assert "no description" in catalog.skipped["nameless"]
    assert "not a path inside" in catalog.skipped["thief"]
    assert "no regular file" in catalog.skipped["fifo"]
    refused = error_of(catalog.find("nameless"))
    assert refused.error == "skill_not_readable"
    assert "no description" in refused.message


def test_a_symlink_out_of_the_skills_folder_is_refused(root: Path) -> None:
    write_skill(root.parent / "outside", {"SKILL.md": "Outside."})
    (root / "away").symlink_to("../outside")
    (root / "whole").symlink_to(".")
    (root / "alias").symlink_to("alpha")
    catalog = SkillCatalog(root)
    assert names(catalog) == ["alias", "alpha", "middle", "zebra"]
    assert set(catalog.skipped) == {"away", "whole"}
    assert all("symlink" in reason for reason in catalog.skipped.values())


def test_the_skills_folder_itself_may_be_a_symlink(root: Path) -> None:
    (root.parent / "link").symlink_to(root)
    catalog = SkillCatalog(root.parent / "link")
    assert names(catalog) == ["alpha", "middle", "zebra"]
    found = catalog.find("alpha")
    assert isinstance(found, Skill)
    assert found.root == (root / "alpha").resolve()


@pytest.mark.parametrize("name", ["", "..", "a/b", "../alpha", "a\\b", "a\0b", "/etc", "\ud800", "a..b"])
def test_a_name_that_could_be_a_path_is_invalid(root: Path, name: str) -> None:
    assert error_of(SkillCatalog(root).find(name)).error == "invalid_skill_name"


def test_an_unknown_skill_is_answered_with_those_there_are(root: Path) -> None:
    unknown = error_of(SkillCatalog(root).find("omega"))
    assert unknown.error == "unknown_skill"
    assert "alpha, middle, zebra" in unknown.fix


@pytest.mark.parametrize("name", ["x" * 300, ".", "README.md", "alpha "])
def test_names_that_no_skill_has_are_unknown(root: Path, name: str) -> None:
    (root / "README.md").write_text("")
    assert error_of(SkillCatalog(root).find(name)).error == "unknown_skill"


def test_a_skill_that_is_not_allowed_looks_like_one_that_is_not_there(root: Path) -> None:
    write_skill(root / "broken", {"SKILL.md": "---\n---\n"})
    catalog = SkillCatalog(root)
    for hidden in ("middle", "broken"):
        refused = error_of(catalog.find(hidden, ("alpha",)))
        missing = error_of(catalog.find("omega", ("alpha",)))
        assert refused.model_dump_json() == missing.model_dump_json().replace("omega", hidden)
        assert refused.fix == "Use one of: alpha"
    assert isinstance(catalog.find("middle", ("middle",)), Skill)


def test_changes_are_seen(root: Path) -> None:
    catalog = SkillCatalog(root)
    assert names(catalog) == ["alpha", "middle", "zebra"]
    shutil.rmtree(root / "zebra")
    write_skill(root / "new", {"SKILL.md": "New."})
    (root / "alpha" / "SKILL.md").write_text("Changed.")
    (root / "middle" / "SKILL.md").unlink()
    assert [(s.name, s.description) for s in catalog.list()] == [
        ("alpha", "Changed."),
        ("middle", NO_DESCRIPTION),
        ("new", "New."),
    ]
    (root / "new" / "SKILL.md").write_text("Newer.")
    found = catalog.find("new")
    assert isinstance(found, Skill)
    assert found.description == "Newer."
    assert isinstance(catalog.find("zebra"), ToolError)


def test_what_has_not_changed_is_not_read_again(root: Path) -> None:
    catalog = SkillCatalog(root)
    before = catalog.list()
    assert all(now is then for now, then in zip(catalog.list(), before, strict=True))
    assert catalog.find("alpha") is before[0]


def test_a_skill_that_is_mended_loads(root: Path) -> None:
    catalog = SkillCatalog(root)
    write_skill(root / "alpha", {"SKILL.md": "---\n---\n"})
    assert "alpha" in catalog.skipped
    write_skill(root / "alpha", {"SKILL.md": "Mended."})
    assert "alpha" in names(catalog)
    assert not catalog.skipped
