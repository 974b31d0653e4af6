"""Skills that a registry file of their root describes (seed 002)."""

import json
from pathlib import Path
from typing import Any

from tests.workers.skill_folders import write_skill

from skillfleet_workers.skills.catalog import SkillCatalog
from skillfleet_workers.skills.digests import digest_of
from skillfleet_workers.skills.kept import Kept
from skillfleet_workers.skills.models import Skill
from skillfleet_workers.wire.contract import ToolError


def record(name: str, version: str, path: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {}}
    return {"name": name, "version": version, "path": path, "parameters_schema": schema, "description": f"{name}!"}


def listed(catalog: SkillCatalog) -> list[tuple[str, str, str]]:
    return [(skill.name, skill.version, skill.description) for skill in catalog.versions]


def test_a_record_makes_a_skill_of_its_folder_under_its_name(tmp_path: Path) -> None:
    write_skill(tmp_path / "group/tools/adder", {"add.py": ""})
    write_skill(tmp_path / "plain", {"x.py": ""})
    (tmp_path / "skills.json").write_text(json.dumps([record("sums", "1.0.0", "group/tools/adder")]))
    catalog = SkillCatalog(tmp_path)
    assert listed(catalog) == [("plain", "0.0.0", "No description."), ("sums", "1.0.0", "sums!")]
    found = catalog.find("sums")
    assert isinstance(found, Skill)
    assert found.root == tmp_path / "group/tools/adder"


def test_several_records_are_several_versions(tmp_path: Path) -> None:
    write_skill(tmp_path / "one", {"x.py": ""})
    write_skill(tmp_path / "two", {"x.py": ""})
    file = tmp_path / "skills.yaml"
    file.write_text(json.dumps([record("sums", "1.0.0", "one"), record("sums", "2.0.0", "two")]))
    catalog = SkillCatalog(tmp_path)
    assert [(name, version) for name, version, _ in listed(catalog)] == [("sums", "1.0.0"), ("sums", "2.0.0")]
    assert isinstance(older := catalog.find("sums@1.0.0"), Skill)
    assert older.root == tmp_path / "one"
    file.write_text(json.dumps([record("sums", "3.0.0", "one")]))
    assert [(name, version) for name, version, _ in listed(catalog)] == [("sums", "3.0.0"), ("two", "0.0.0")]


def test_what_is_wrong_with_a_registry_file_is_a_problem_of_the_root(tmp_path: Path) -> None:
    (tmp_path / "skills.yaml").write_text("{")
    catalog = SkillCatalog(tmp_path)
    assert catalog.list() == ()
    assert [problem.file for problem in catalog.problems] == ["skills.yaml"]


def test_a_skill_with_a_record_is_not_copied_but_verified(tmp_path: Path) -> None:
    """What its record says lies outside of its folder."""
    root = tmp_path / "skills"
    write_skill(root / "adder", {"add.py": "1"})
    (root / "skills.json").write_text(json.dumps([record("sums", "1.0.0", "adder")]))
    kept = Kept(tmp_path / "kept")
    catalog = SkillCatalog(root, kept=kept)
    (skill,) = catalog.list()
    digest = kept.keep(skill)
    assert digest == digest_of(root / "adder")
    assert kept.find(digest) is None
    assert catalog.find("sums", None, digest) == skill
    (root / "adder/add.py").write_text("2")
    assert isinstance(catalog.find("sums", None, digest), ToolError)
