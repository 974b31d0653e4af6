"""The strict verdict where there is more than SKILL.md, less, or something in its way."""

import json
import os
from pathlib import Path

import pytest
from tests.workers.skill_folders import write_skill

from skillfleet_workers.skills.strict import strict_problems

GOOD = '---\nname: calc\ndescription: Adds.\nmetadata:\n  version: "1.2.3"\n---\n'
MANIFEST = {"name": "calc", "version": "1.2.3", "description": "Adds numbers."}


def codes(folder: Path) -> list[str]:
    return [problem.code for problem in strict_problems(folder)]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [({}, []), ({"name": "other"}, ["name-differs"]), ({"version": "2.0.0"}, ["version-differs"]),
     ({"version": "2.0"}, ["field-invalid", "version-differs"]), ({"description": None}, ["field-missing"])],
)  # fmt: skip
def test_skill_json_must_not_contradict_skill_md(
    tmp_path: Path, changes: dict[str, str | None], expected: list[str]
) -> None:
    write_skill(tmp_path / "calc", {"SKILL.md": GOOD, "skill.json": json.dumps(MANIFEST | changes, indent=1)})
    problems = strict_problems(tmp_path / "calc")
    assert [problem.code for problem in problems] == expected
    assert all(problem.severity == "error" and problem.file == "skill.json" for problem in problems)


@pytest.mark.parametrize(
    ("text", "expected"),
    [(json.dumps(MANIFEST), []), (json.dumps(MANIFEST | {"name": "C"}), ["field-invalid"]),
     ("{}", ["field-missing"] * 3),
     ("[", ["json-invalid"]), ("[]", ["json-not-an-object"]),
     (json.dumps(MANIFEST | {"priority": 101}), ["field-invalid"])],
)  # fmt: skip
def test_skill_json_alone_is_judged_by_its_own_rules(tmp_path: Path, text: str, expected: list[str]) -> None:
    write_skill(tmp_path / "calc", {"skill.json": text})
    assert codes(tmp_path / "calc") == expected


def test_every_fault_has_its_line(tmp_path: Path) -> None:
    text = "---\n# first\nname: Other\ntitle: x\ndescription: ' '\n---\n"
    write_skill(tmp_path / "calc", {"SKILL.md": text})
    found = {(problem.code, problem.line) for problem in strict_problems(tmp_path / "calc")}
    assert found == {("name-invalid", 3), ("name-differs", 3), ("field-not-allowed", 4), ("description-missing", 5)}
    write_skill(tmp_path / "calc", {"SKILL.md": "---\nname: calc\ndescription: [a]\n---\n"})
    (problem,) = strict_problems(tmp_path / "calc")
    assert (problem.code, problem.line, problem.file) == ("frontmatter-not-strict", 3, "SKILL.md")


def test_what_is_in_the_way_is_told(tmp_path: Path) -> None:
    assert codes(tmp_path / "absent") == ["folder-missing"]
    write_skill(tmp_path / "bare", {"run.py": ""})
    assert codes(tmp_path / "bare") == ["skill-md-missing"]
    write_skill(tmp_path / "spelled", {"Skill.md": GOOD, "skill.json": json.dumps(MANIFEST)})
    assert codes(tmp_path / "spelled") == ["skill-md-missing"]
    (tmp_path / "SKILL.md").write_text(GOOD)
    write_skill(tmp_path / "calc", {})
    (tmp_path / "calc" / "SKILL.md").symlink_to("../SKILL.md")
    assert codes(tmp_path / "calc") == ["file-unreadable"]
    write_skill(tmp_path / "fifo", {})
    os.mkfifo(tmp_path / "fifo" / "SKILL.md")
    assert codes(tmp_path / "fifo") == ["file-unreadable"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [("x:\n" + "- v\n" * 3_000, "field-not-allowed"), ("- " * 10_000, "frontmatter-not-strict"),
     ("x: " + "[" * 30_000, "frontmatter-not-strict"),
     ("".join(f"k{n}: v\n" for n in range(3_000)), "field-not-allowed"),
     ("name: " + "x" * 70_000, "file-too-large")],
    ids=range(5),
)  # fmt: skip
def test_what_would_hold_the_validator_up_is_judged_all_the_same(tmp_path: Path, lines: str, expected: str) -> None:
    write_skill(tmp_path / "calc", {"SKILL.md": f"---\n{lines}\n---\n"})
    assert expected in codes(tmp_path / "calc")


def test_a_file_without_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    write_skill(tmp_path / "calc", {"SKILL.md": GOOD})
    os.truncate(tmp_path / "calc" / "SKILL.md", 2**40)
    assert codes(tmp_path / "calc") == ["file-too-large"]


def test_the_folder_may_be_named_by_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_skill(tmp_path / "calc", {"SKILL.md": GOOD})
    monkeypatch.chdir(tmp_path / "calc")
    assert codes(Path()) == []
