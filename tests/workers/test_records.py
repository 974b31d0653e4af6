"""The registry file of a root, and the skills that it describes."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.workers.skill_folders import write_skill

from skillfleet_workers.skills.models import Skill
from skillfleet_workers.skills.reading import read_skill
from skillfleet_workers.skills.records import read_records

YAML = """\
- name: navigate
  version: 1.0.0
  path: nav/one
  description: Drives there.
  parameters_schema:
    type: object
    properties: {speed: {type: number, minimum: 1, default: 1.5}}
    additionalProperties: false
  timeout: 60
  max_retries: 2
  dependencies: [detect, "grasp@1.0.0"]
  tags: [motion]
  created_at: "2025-12-19T10:00:00Z"
- name: navigate
  version: 2.0.0
  path: nav/two
  parameters_schema: {}
"""
RECORD: dict[str, Any] = {"name": "navigate", "version": "1.0.0", "parameters_schema": {}}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for folder in ("nav/one", "nav/two", "navigate"):
        write_skill(tmp_path / folder, {"run.py": "print(1)"})
    return tmp_path


def read(folder: Path, record: dict[str, Any]) -> Skill:
    skill = read_skill(folder, record=record)
    assert isinstance(skill, Skill), skill
    return skill


def test_records_say_which_folders_hold_which_versions(root: Path) -> None:
    (root / "skills.yaml").write_text(YAML)
    records = read_records(root)
    assert records.problems == ()
    assert [folder for folder, _ in records.found] == [root.resolve() / "nav" / name for name in ("one", "two")]
    first, second = (read(folder, record) for folder, record in records.found)
    assert first == Skill(
        "navigate", root.resolve() / "nav/one", description="Drives there.", version="1.0.0", timeout=60,
        max_retries=2, dependencies=("detect", "grasp@1.0.0"), tags=("motion",), formats=("registry",),
        parameters_schema={
            "type": "object", "properties": {"speed": {"type": "number", "minimum": 1, "default": 1.5}},
            "additionalProperties": False,
        },
    )  # fmt: skip
    assert first.parameters_schema and first.parameters_schema["additionalProperties"] is False
    assert (second.name, second.version, second.problems) == ("navigate", "2.0.0", ())


@pytest.mark.parametrize("file", ["skills.yaml", "skills.yml", "skills.json"])
def test_the_file_may_be_yaml_or_json(root: Path, file: str) -> None:
    (root / file).write_text(json.dumps([RECORD]))
    ((folder, record),) = read_records(root).found
    assert (folder.name, read(folder, record).problems) == ("navigate", ())


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"version": "1.0"}, "version"), ({"version": 1.0}, "version"), ({"description": "x" * 501}, "description"),
     ({"parameters_schema": "x"}, "parameters_schema"), ({"parameters_schema": {"type": "no"}},
     "parameters_schema"),
     ({"returns_schema": []}, "returns_schema"), ({"timeout": 0}, "timeout"), ({"timeout": 3601}, "timeout"),
     ({"timeout": "60"}, "timeout"), ({"timeout": True}, "timeout"), ({"max_retries": 6}, "max_retries"),
     ({"max_retries": -1}, "max_retries"), ({"dependencies": "a"}, "dependencies"), ({"dependencies": ["a/b"]},
     "dependencies"),
     ({"tags": ["x" * 31]}, "tags"), ({"tags": ["x"] * 11}, "tags"), ({"tags": [1]}, "tags")],
    ids=str,
)  # fmt: skip
def test_a_value_that_breaks_its_rule_is_told(root: Path, changes: dict[str, Any], field: str) -> None:
    text = json.dumps([RECORD | changes], indent=0)
    (root / "skills.yaml").write_text(text)
    ((folder, record),) = read_records(root).found
    (problem,) = read(folder, record).problems
    assert problem.message.startswith(field) and problem.file == "skills.yaml"
    assert problem.line == 1 + next(n for n, line in enumerate(text.splitlines()) if f'"{field}"' in line)


@pytest.mark.parametrize(
    "changes",
    [*({"name": "x" * length} for length in (3, 4, 49, 50)), {"name": "Nav-1"},
     *({"description": "x" * length} for length in (0, 499, 500)),
     *({"timeout": seconds} for seconds in (1, 2, 3599, 3600)), *({"max_retries": count} for count in (0, 1, 4, 5)),
     *({"tags": ["x" * length] * count} for length, count in ((30, 10), (29, 9), (1, 0)))],
    ids=str,
)  # fmt: skip
def test_a_value_at_its_limit_or_under_it_is_right(root: Path, changes: dict[str, Any]) -> None:
    assert read(root / "navigate", RECORD | changes).problems == ()


@pytest.mark.parametrize("name", ["x" * 2, "x" * 51, "a_b_c"])
def test_a_record_whose_name_breaks_its_rule_stands_for_no_skill(root: Path, name: str) -> None:
    (root / "skills.yaml").write_text(json.dumps([RECORD | {"name": name}]))
    records = read_records(root)
    assert records.found == () and "no name of a skill" in records.problems[0].message


def test_what_seed_002_requires_is_missed(root: Path) -> None:
    skill = read(root / "navigate", {"name": "navigate"})
    assert [p.message for p in skill.problems] == ["version is missing", "parameters_schema is missing"]


def test_the_folders_own_files_say_more_than_its_record_but_not_of_its_name_and_version(root: Path) -> None:
    text = "---\nname: navigate\ndescription: Prose.\nversion: 3.0.0\ntimeout: 5\n---\n"
    write_skill(root / "nav/one", {"SKILL.md": text})
    skill = read(root / "nav/one", RECORD | {"description": "Record.", "timeout": 60, "max_retries": 1})
    assert (skill.name, skill.version, skill.description) == ("navigate", "1.0.0", "Prose.")
    assert (skill.timeout, skill.max_retries, skill.formats) == (5, 1, ("registry", "skill_md"))
    assert [problem.code for problem in skill.problems] == ["version-differs"]


@pytest.mark.parametrize(
    ("text", "codes"),
    [("", []), ("[]", []), ("{}", ["records-unreadable"]), ("[", ["records-unreadable"]),
     ("text", ["records-unreadable"]),
     ("- text", ["record-invalid"]), ("- {}", ["record-invalid"]), ("- name: x", ["record-invalid"]),
     ("- name: [a]", ["record-invalid"]),
     ("- name: absent", ["record-folder-missing"]), ("- {name: navigate, path: ../x}", ["record-folder-missing"]),
     ("- {name: navigate, path: /etc}", ["record-folder-missing"]),
     ("- {name: navigate, path: .}", ["record-folder-missing"]),
     ("- {name: navigate, path: out}", ["record-folder-missing"]),
     ("- {name: navigate, path: 5}", ["record-folder-missing"]),
     ("- {name: navigate, path: navigate/run.py}", ["record-folder-missing"]),
     ('- {name: navigate, path: "a\\0"}', ["record-folder-missing"]),
     (f"- {{name: navigate, path: {'x' * 5000}}}", ["record-folder-missing"]),
     ("- name: navigate\n- name: navigate", ["record-duplicate"]), ("- &a [*a]", ["records-unreadable"]),
     ("x: " + "[" * 60, ["records-unreadable"]), ("#" * 1_100_000, ["file-too-large"]),
     ("- &a [x,x,x,x,x,x,x,x]\n- &b [*a,*a,*a,*a,*a,*a,*a,*a]\n- &c [*b,*b,*b,*b,*b,*b,*b,*b]\n"
      "- [*c,*c,*c,*c,*c]", ["record-invalid"] * 4)],
    ids=range(23),
)  # fmt: skip
def test_a_registry_file_with_faults_is_told_and_nothing_else_is_lost(
    root: Path, text: str, codes: list[str]
) -> None:
    (root / "out").symlink_to("/etc")
    (root / "skills.yaml").write_text(text)
    (root / "skills.json").write_text(json.dumps([RECORD]))
    records = read_records(root)
    assert [problem.code for problem in records.problems] == codes
    assert len(records.found) >= 1


def test_there_are_no_records_where_there_is_no_file(tmp_path: Path) -> None:
    assert read_records(tmp_path / "nothing").found == ()
