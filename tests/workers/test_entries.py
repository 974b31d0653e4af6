"""How a skill runs without a model: what its author says of it, and what workers publish."""

import json
import logging
from pathlib import Path

import pytest
from tests.workers.skill_folders import write_skill

from skillfleet_workers.skills.catalog import SkillCatalog
from skillfleet_workers.skills.entries import MAX_CHARS, entry_for
from skillfleet_workers.skills.models import Skill
from skillfleet_workers.skills.publishing import Publishing
from skillfleet_workers.skills.reading import read_skill
from skillfleet_workers.wire.published import Entry, Snapshot

CHAIN = """---
name: fetch
description: Fetches.
metadata:
  skillfleet:
    dependencies: [navigate, detect]
    topic: fetching.done
    inputs: {detect: {area: hall, count: 3}, fetch: {position: "${navigate.position}"}}
    parameters_schema: {type: object, properties: {location: {type: string}}}
---
"""
BARE = "---\nname: fetch\ndescription: Fetches.\nmetadata:\n  skillfleet:\n"


def skill(root: Path, files: dict[str, str]) -> Skill:
    write_skill(root / "fetch", files)
    read = read_skill(root / "fetch")
    assert isinstance(read, Skill), read
    return read


def test_what_puts_others_together_is_published_with_all_that_it_says(tmp_path: Path) -> None:
    assert entry_for(skill(tmp_path, {"SKILL.md": CHAIN})) == Entry(
        parameters={"type": "object", "properties": {"location": {"type": "string"}}},
        dependencies=("navigate", "detect"),
        inputs={"detect": {"area": "hall", "count": 3}, "fetch": {"position": "${navigate.position}"}},
        topic="fetching.done",
    )


@pytest.mark.parametrize(
    ("declared", "scripts", "runs"),
    [
        ("", ("scripts/only.py",), "scripts/only.py"),
        ("", ("scripts/a.py", "scripts/b.py"), None),
        ("    entry: b\n", ("scripts/a.py", "scripts/b.py"), "scripts/b.py"),
        ("    entry: gone\n    dependencies: [navigate]\n", ("scripts/a.py",), None),
        ("    dependencies: [navigate]\n", ("scripts/a.py", "scripts/b.py"), ""),
        ("", (), None),
    ],
)
def test_the_entry_is_what_the_author_names_else_the_only_script(
    tmp_path: Path, declared: str, scripts: tuple[str, ...], runs: str | None
) -> None:
    files = {"SKILL.md": f"{BARE}    timeout: 9\n{declared}---\n"} | dict.fromkeys(scripts, "print(1)\n")
    entry = entry_for(skill(tmp_path, files))
    assert (entry and entry.script) == runs


def test_a_schema_that_is_too_long_is_left_out_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    entries = []
    for spare in (0, 1):
        size = MAX_CHARS - len(json.dumps({"description": ""})) + spare
        schema = json.dumps({"description": "x" * size})
        text = f"{BARE}    parameters_schema: '{schema}'\n---\n"
        with caplog.at_level(logging.WARNING):
            entries.append(entry_for(skill(tmp_path / str(spare), {"SKILL.md": text, "run.py": ""})))
    assert [bool(entry and entry.parameters) for entry in entries] == [True, False]
    assert [record.getMessage() for record in caplog.records] == [
        f"the parameters_schema of skill fetch has {MAX_CHARS + 1} characters and is not published"
    ]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("topic: navigation.complete", None),
        (f"topic: {'x' * 100}", None),
        (f"topic: {'x' * 101}", "field-invalid"),
        ("topic: a..b", "field-invalid"),
        ("topic: 'two words'", "field-invalid"),
        ("inputs: {navigate: {speed: 2}}", None),
        ("""inputs: '{"navigate": {"speed": 2}}'""", None),
        ("inputs: {navigate: fast}", "not-a-map"),
        ("inputs: [navigate]", "not-a-map"),
        ("inputs: '{'", "not-a-map"),
    ],
)
def test_a_wrong_topic_and_wrong_inputs_are_told_and_left_out(tmp_path: Path, line: str, code: str | None) -> None:
    found = skill(tmp_path, {"SKILL.md": f"{BARE}    {line}\n---\n", "run.py": ""})
    assert [problem.code for problem in found.problems] == ([code] if code else [])
    assert bool(found.topic or found.inputs) == (code is None)


def test_a_change_of_how_it_runs_is_a_new_snapshot(tmp_path: Path) -> None:
    write_skill(tmp_path / "fetch", {"SKILL.md": CHAIN})
    publishing = Publishing(SkillCatalog(tmp_path), lambda _: None, lambda _: "", lambda _: "same")
    before = publishing.snapshot()
    assert Snapshot.model_validate_json(before.model_dump_json()).id == before.id
    assert publishing.snapshot() is before
    (tmp_path / "fetch/run.py").write_text("print(1)\n")
    after = publishing.snapshot().skills[0].entry
    assert after is not None and after.script == "run.py"
