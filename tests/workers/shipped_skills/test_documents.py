"""What every skill that ships has in common: its documents, and how its scripts behave as commands."""

import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.workers.shipped_skills.bench import NAMES, SKILLS, Bench

from skillfleet_workers.skills.catalog import SkillCatalog
from skillfleet_workers.skills.strict import strict_problems

SCRIPTS = sorted(path.relative_to(SKILLS).as_posix() for path in SKILLS.glob("*/scripts/*.py"))
COMMANDS = [script for script in SCRIPTS if Path(script).name not in ("columns.py", "tables.py")]


def frontmatter(skill: str) -> dict[str, Any]:
    text = (SKILLS / skill / "SKILL.md").read_text()
    assert text.startswith("---\n")
    fields = yaml.safe_load(text.split("\n---\n")[0])
    assert isinstance(fields, dict)
    return fields


def samples(skill: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (SKILLS / skill / "SKILL.md").read_text(), re.DOTALL)


def test_every_shipped_folder_is_a_skill_that_loads_without_a_warning() -> None:
    catalog = SkillCatalog(SKILLS)
    assert tuple(skill.name for skill in catalog.list()) == NAMES
    assert not catalog.skipped
    assert [skill.problems for skill in catalog.list()] == [()] * len(NAMES)


@pytest.mark.parametrize("skill", NAMES)
def test_every_shipped_skill_is_valid_by_the_letter_of_the_standard(skill: str) -> None:
    assert strict_problems(SKILLS / skill) == ()


@pytest.mark.parametrize("skill", NAMES)
def test_the_frontmatter_obeys_the_open_specification(skill: str) -> None:
    fields = frontmatter(skill)
    assert set(fields) <= {"name", "description", "license", "allowed-tools", "metadata", "compatibility"}
    assert fields["name"] == skill == unicodedata.normalize("NFKC", skill)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", skill) and len(skill) <= 64
    assert 1 <= len(fields["description"].strip()) <= 1024
    assert "Use when" in fields["description"]
    assert 1 <= len(fields["compatibility"]) <= 500
    assert fields["license"] == "Apache-2.0"
    plain = {name: value for name, value in fields["metadata"].items() if name != "skillfleet"}
    assert all(isinstance(word, str) for pair in plain.items() for word in pair)


@pytest.mark.parametrize("skill", NAMES)
def test_every_file_that_the_documents_name_exists(skill: str) -> None:
    root = SKILLS / skill
    path = re.compile(r"`(?:python )?((?:scripts|references|assets|data)/[\w./-]+\.\w+)")
    for document in root.rglob("*.md"):
        for name in path.findall(document.read_text()):
            assert (root / name).is_file(), document


@pytest.mark.parametrize("skill", [name for name in NAMES if not (SKILLS / name / "openapi.json").exists()])
def test_the_samples_of_skill_md_run(bench: Bench, skill: str) -> None:
    assert samples(skill)
    for sample in samples(skill):
        done = bench.run(skill, "-", stdin=sample)
        assert (done.returncode, done.stderr) == (0, "")
        shown = re.findall(r"# (\d[\d./]*)(?:,|$)", sample, re.MULTILINE)
        assert all(value in done.stdout.splitlines() for value in shown)


@pytest.mark.parametrize("script", SCRIPTS)
def test_importing_a_script_does_nothing(bench: Bench, script: str) -> None:
    skill, module = script.split("/", 1)[0], Path(script).stem
    done = bench.run(skill, "-c", f"import scripts.{module} as m; print(len(m.__doc__))")
    assert done.returncode == 0, done.stderr
    assert 20 < int(done.stdout) <= 500
    assert done.stderr == "" and not list(bench.output.iterdir())


@pytest.mark.parametrize("script", COMMANDS)
def test_every_command_explains_itself_and_refuses_unknown_options(bench: Bench, script: str) -> None:
    skill, path = script.split("/", 1)
    shown = bench.run(skill, path, "--help")
    assert shown.returncode == 0 and shown.stdout.startswith("usage:")
    refused = bench.run(skill, path, "--no-such-option")
    assert refused.returncode == 2 and "usage:" in refused.stderr
