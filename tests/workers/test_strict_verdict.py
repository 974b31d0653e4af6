"""Over the whole corpus: the strict verdict is the reference validator's, and lenient reading does what it must."""

import os
from pathlib import Path

import pytest
import skills_ref
from tests.workers.corpus.entries import ENTRIES
from tests.workers.corpus.entry import Entry
from tests.workers.skill_folders import write_skill

from skillfleet_workers.skills.models import Skill, Skipped
from skillfleet_workers.skills.problems import FIXES
from skillfleet_workers.skills.reading import read_skill
from skillfleet_workers.skills.strict import strict_problems


@pytest.fixture
def folder(tmp_path: Path, entry: Entry) -> Path:
    write_skill(tmp_path / entry.folder, entry.files)
    return tmp_path / entry.folder


def reference_accepts(folder: Path) -> bool:
    try:
        return not skills_ref.validate(folder)
    except Exception:  # noqa: BLE001 - it crashes on some folders, in many ways: then they are invalid too
        return False


each = pytest.mark.parametrize("entry", ENTRIES, ids=[f"{at}" for at in range(len(ENTRIES))])


def test_the_corpus_is_large_and_has_no_entry_twice() -> None:
    assert len({(entry.folder, *sorted(entry.files.items())) for entry in ENTRIES}) == len(ENTRIES) >= 400


@each
def test_the_strict_verdict_is_the_references(folder: Path, entry: Entry) -> None:
    problems = strict_problems(folder)
    assert (not problems) == reference_accepts(folder), (entry, problems)
    for problem in problems:
        assert problem.severity == "error" and problem.code in FIXES and problem.message and problem.fix


@each
def test_what_the_standard_accepts_loads_with_the_references_description(folder: Path, entry: Entry) -> None:
    if not reference_accepts(folder):
        return
    found = read_skill(folder)
    assert isinstance(found, Skill), found
    # To the reference a description ends at the first ---, wherever it stands.
    told = skills_ref.read_properties(folder).description.split()
    assert " ".join(found.description.split()).startswith(" ".join(told))


@each
def test_lenient_reading_makes_of_it_what_the_format_says(folder: Path, entry: Entry) -> None:
    found = read_skill(folder)
    assert found.root == Path(os.path.realpath(folder))
    outcome = "skipped" if isinstance(found, Skipped) else "warns" if found.problems else "loads"
    assert outcome == entry.outcome, (entry, found)
    if isinstance(found, Skill) and entry.description is not None:
        assert found.description == entry.description
    for problem in found.problems:
        assert problem.code in FIXES and problem.message and problem.fix and len(problem.message) < 1_000
