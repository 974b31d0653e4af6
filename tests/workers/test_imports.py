"""What is loaded ahead for the scripts of a skill."""

from pathlib import Path

import pytest
from tests.workers.skill_folders import write_skill

from skillfleet_workers.skills.imports import MOST_MODULES, SkillImports, imports_of


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import a.b as c, d", {"a.b", "d"}),
        ("def f():\n    from x import y, Z", {"x", "x.y"}),
        ("from . import near\nfrom .near import thing", set()),
        ("import antigravity, this\nfrom __future__ import annotations", set()),
        ("import (", set()),
        ("\0", set()),
        (f"import {'a' * 300}, os.{'b' * 70_000}, other.__main__", set()),
    ],
    ids=["names", "inside a function", "relative", "with effects", "no Python", "no text", "names that attack"],
)
def test_imports_are_found_by_parsing(source: str, found: set[str]) -> None:
    assert imports_of(source) == found


def test_modules_of_the_skill_itself_are_not_loaded_ahead(tmp_path: Path) -> None:
    files = {
        "SKILL.md": "# S",
        "scripts/run.py": "import json, core, near\nimport csv",
        "scripts/near.py": "",
        "scripts/deep/run.py": "import colorsys",
        "scripts/deep/colorsys.py": "",
        "core/x.py": "",
    }
    assert SkillImports().of(write_skill(tmp_path / "s", files), None) == ("csv", "json")


def test_what_model_written_scripts_import_is_remembered_for_the_next(tmp_path: Path) -> None:
    imports, skill = SkillImports(), write_skill(tmp_path / "s", {"SKILL.md": "# S"})
    assert imports.of(skill, "import pandas") == ("pandas",)
    assert imports.of(skill, "print(1)") == ("pandas",)


def test_a_script_that_changes_is_read_anew(tmp_path: Path) -> None:
    imports, skill = SkillImports(), write_skill(tmp_path / "s", {"SKILL.md": "# S", "a.py": "import json"})
    assert imports.of(skill, None) == ("json",)
    (skill.root / "a.py").write_text("import json, decimal")
    assert imports.of(skill, None) == ("decimal", "json")


def test_no_script_can_make_it_load_ever_more(tmp_path: Path) -> None:
    imports, skill = SkillImports(), write_skill(tmp_path / "s", {"SKILL.md": "# S"})
    for number in range(MOST_MODULES + 5):
        assert len(imports.of(skill, f"import module_{number}")) <= MOST_MODULES
