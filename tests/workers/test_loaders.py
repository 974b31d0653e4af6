"""Formats that other distributions bring."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.workers.skill_folders import write_skill

from skillfleet_workers.skills.catalog import SkillCatalog
from skillfleet_workers.skills.loaders import loaders
from skillfleet_workers.skills.models import Skill, Skipped
from skillfleet_workers.skills.reading import documents, marks_skill, read_skill

MODULE = """
from skillfleet_workers.skills.models import Skill
from skillfleet_workers.skills.problems import Problem

class Loader:
    documents = ("skill.toml",)

    def load(self, folder):
        text = (folder / "skill.toml").read_text()
        if text == "raise":
            raise KeyError("broken")
        if text == "recurse":
            return self.load(folder)
        if text == "nonsense":
            return {"name": "x"}
        if text == "wrong":
            return Skill("x", folder, description=5)
        return Skill("x", folder, description=text, problems=(Problem("note", "A note.", "None.", "skill.toml"),))
"""
Install = Callable[[str, str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Puts a distribution with one loader where Python finds it."""

    def install(module: str, text: str) -> None:
        site = tmp_path / module
        info = site / f"{module}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[skillfleet.loaders]\n{module} = {module}:Loader\n")
        (site / f"{module}.py").write_text(text)
        monkeypatch.syspath_prepend(str(site))
        loaders.cache_clear()

    yield install
    for name in ("toml_skills", "torn_skills"):
        sys.modules.pop(name, None)
    loaders.cache_clear()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "skills"


def test_a_folder_of_their_format_is_a_skill_under_the_folders_name(install: Install, root: Path) -> None:
    write_skill(root / "calc", {"skill.toml": "Adds."})
    assert not marks_skill(["skill.toml"])
    install("toml_skills", MODULE)
    assert marks_skill(["skill.toml"]) and documents(root / "calc") == ("skill.toml",)
    skill = read_skill(root / "calc", scope="user")
    assert isinstance(skill, Skill)
    assert (skill.name, skill.root, skill.scope) == ("calc", (root / "calc").resolve(), "user")
    assert (skill.description, [problem.code for problem in skill.problems]) == ("Adds.", ["note"])


def test_the_formats_that_are_built_in_come_first(install: Install, root: Path) -> None:
    install("toml_skills", MODULE)
    write_skill(root / "calc", {"skill.toml": "raise", "SKILL.md": "Prose."})
    skill = read_skill(root / "calc")
    assert isinstance(skill, Skill) and skill.description == "Prose."


@pytest.mark.parametrize(
    ("text", "why"),
    [("raise", "KeyError: 'broken'"), ("recurse", "RecursionError"), ("nonsense", "no skill, but dict"),
     ("wrong", "wrong description")],
)  # fmt: skip
def test_a_loader_that_fails_costs_its_own_skill_alone(install: Install, root: Path, text: str, why: str) -> None:
    install("toml_skills", MODULE)
    write_skill(root / "broken", {"skill.toml": text})
    write_skill(root / "calc", {"skill.toml": "Adds."})
    skipped = read_skill(root / "broken")
    assert isinstance(skipped, Skipped)
    (problem,) = skipped.problems
    assert (problem.code, problem.severity, problem.file) == ("loader-failed", "error", "skill.toml")
    assert "toml_skills" in problem.message and why in problem.message
    assert [skill.name for skill in SkillCatalog(root).list()] == ["calc"]


@pytest.mark.parametrize(
    "text", ["raise OSError('torn')", "class Loader: pass", "class Loader:\n    documents = (1,)", "1 +"]
)
def test_a_loader_that_cannot_be_imported_is_left_out_and_logged(
    install: Install, root: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    install("torn_skills", text)
    install("toml_skills", MODULE)
    write_skill(root / "calc", {"skill.toml": "Adds."})
    assert isinstance(read_skill(root / "calc"), Skill)
    assert [record for record in caplog.records if "torn_skills" in record.getMessage()]
