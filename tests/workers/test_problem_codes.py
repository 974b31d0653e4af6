"""What documents and code say of the codes of problems must agree."""

import re
from pathlib import Path

from skillfleet_workers.skills.problems import FIXES

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "workers/skillfleet_workers/skills"


def test_every_code_is_documented_with_its_fix() -> None:
    text = (ROOT / "docs/problems.md").read_text()
    table = text.partition("## Reading a skill")[2].partition("\n## ")[0]
    assert dict(re.findall(r"^\| `([a-z0-9-]+)` \| .+ \| (.+) \|$", table, re.MULTILINE)) == FIXES


def test_every_code_is_told_somewhere() -> None:
    code = "".join(path.read_text() for path in SOURCES.glob("*.py") if path.name != "problems.py")
    assert not {name for name in FIXES if f'"{name}"' not in code}


def test_codes_are_stable_words() -> None:
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code) for code in FIXES)
