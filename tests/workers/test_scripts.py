"""Which scripts a skill has, what is known of them, and what the tools that stand for them are called."""

import os
import re
from pathlib import Path

import pytest
from tests.workers.skill_folders import write_skill

from skillfleet_workers.skills.languages import INTERPRETER_MAP
from skillfleet_workers.skills.models import Skill
from skillfleet_workers.skills.scripts import (
    ScriptMetadata,
    find_script,
    scripts_of,
    validate_script_metadata,
)
from skillfleet_workers.skills.tool_names import script_tool_names, script_tools


def paths(skill: Skill) -> list[str]:
    return [str(script.path) for script in scripts_of(skill)]


def metadata(path: str) -> ScriptMetadata:
    return ScriptMetadata(Path(path).stem, Path(path), "python", "")


def test_scripts_are_told_by_their_extension_then_by_their_first_line(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "scripts/a.py": "", "scripts/b.sh": "", "scripts/c.js": "", "scripts/d.rb": "", "scripts/e.PL": "",
        "scripts/f": "#!/usr/bin/env python3\n", "scripts/g": "#!/bin/sh -e\n",
        "scripts/h.tool": "#!/usr/bin/env -S node\n", "scripts/i": "#!/usr/bin/zsh\n", "scripts/j.txt": "words",
        "scripts/k.bat": "", "scripts/l.py": "#!/bin/bash\n", "scripts/m": b"\xff\xfe#!/bin/sh",
    }  # fmt: skip
    skill = write_skill(tmp_path / "s", files)
    assert [(script.name, script.script_type) for script in scripts_of(skill)] == [
        ("a", "python"), ("b", "shell"), ("c", "javascript"), ("d", "ruby"), ("e", "perl"),
        ("f", "python"), ("g", "shell"), ("h", "javascript"), ("l", "python"),
    ]  # fmt: skip
    assert {INTERPRETER_MAP[e] for e in (".py", ".sh", ".js", ".rb", ".pl")} == {
        "python3",
        "bash",
        "node",
        "ruby",
        "perl",
    }


def test_scripts_are_looked_for_in_scripts_recursively_then_in_the_root(tmp_path: Path) -> None:
    files = ("z.py", "scripts/deep/er/x.py", "scripts/b.py", "lib/no.py", "SKILL.md", "scripts/a/__init__.py")
    assert paths(write_skill(tmp_path / "s", dict.fromkeys(files, ""))) == [
        "scripts/b.py",
        "scripts/deep/er/x.py",
        "z.py",
    ]


def test_what_is_hidden_or_installed_is_no_script(tmp_path: Path) -> None:
    folders = (".hidden", "venv", "node_modules", "__pycache__", "own-venv")
    files = {f"scripts/{folder}/x.py": "" for folder in folders} | {"scripts/own-venv/pyvenv.cfg": "", ".x.py": ""}
    assert paths(write_skill(tmp_path / "s", files)) == []


def test_links_out_of_the_skill_are_no_scripts_and_links_inside_are(tmp_path: Path) -> None:
    (tmp_path / "outside.py").write_text("print('outside')")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "x.py").touch()
    skill = write_skill(tmp_path / "s", {"scripts/real.py": "", "lib/tool.py": "# Inside."})
    for name, target in {"out.py": "../../outside.py", "in.py": "../lib/tool.py", "gone.py": "nothing"}.items():
        (skill.root / "scripts" / name).symlink_to(target)
    (skill.root / "scripts" / "away").symlink_to(tmp_path / "folder")
    (skill.root / "scripts" / "round.py").symlink_to("round.py")
    os.mkfifo(skill.root / "scripts" / "pipe.py")
    assert paths(skill) == ["scripts/in.py", "scripts/real.py"]


def test_a_scripts_folder_that_is_a_link_out_of_the_skill_holds_none(tmp_path: Path) -> None:
    write_skill(tmp_path / "other", {"x.py": ""})
    skill = write_skill(tmp_path / "s", {"y.py": ""})
    (skill.root / "scripts").symlink_to(tmp_path / "other")
    assert paths(skill) == ["y.py"]


def test_a_script_that_changes_is_read_anew(tmp_path: Path) -> None:
    skill = write_skill(tmp_path / "s", {"scripts/a.py": "# One."})
    assert scripts_of(skill)[0].description == "One."
    (skill.root / "scripts/a.py").write_text("# Another.")
    (skill.root / "scripts/b.sh").write_text("# New.")
    assert [script.description for script in scripts_of(skill)] == ["Another.", "New."]
    (skill.root / "scripts/a.py").unlink()
    assert paths(skill) == ["scripts/b.sh"]


def test_an_unchanged_script_is_read_once(tmp_path: Path) -> None:
    skill = write_skill(tmp_path / "s", {"scripts/a.py": "# One."})
    assert scripts_of(skill)[0] is scripts_of(skill)[0]


@pytest.mark.parametrize(
    ("path", "source", "description"),
    [
        ("a.py", '"""Extract text.\n\nMore."""\nimport os', "Extract text. More."),
        ("a.py", "#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n# Extract\n# text.\nimport os", "Extract text."),
        ("a.py", '# /// script\n# dependencies = ["x"]\n# ///\n"""Extract."""', "Extract."),
        ("a.py", "# Copyright 2020 A\n# SPDX-License-Identifier: MIT\n\n'''Extract.'''", "Extract."),
        ("a.py", "\ufeffr'''Extract \\d.'''\r\nimport os\r\n", "Extract \\d."),
        ("a.py", "# Decode what an encoding: line names.\nimport os", "Decode what an encoding: line names."),
        ("a.py", "import os\n# Not about the script.", ""),
        ("a.py", "", ""),
        ("a.sh", "#!/bin/bash\nset -euo pipefail\n\n# Run it.\necho", "Run it."),
        (
            "a.js",
            "#!/usr/bin/env node\n'use strict';\n/**\n * Parse 2 * 3.\n * @module x\n */",
            "Parse 2 * 3. @module x",
        ),
        ("a.js", "// Parse.\n// Well.\nlet x", "Parse. Well."),
        ("a.rb", "# frozen_string_literal: true\n\n=begin\nCount.\n=end\nputs", "Count."),
        ("a.pl", "#!/usr/bin/perl\nuse strict;\nuse warnings;\n\n=head1 NAME\n\nCount.\n\n=cut\nprint", "Count."),
        ("a.py", f"# {'x' * 700}", "x" * 500),
        ("a.py", "'''never closed", "never closed"),
    ],
)
def test_the_description_is_the_first_comment_above_the_code(
    tmp_path: Path, path: str, source: str, description: str
) -> None:
    (script,) = scripts_of(write_skill(tmp_path / "s", {path: source}))
    assert script.description == description


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("extract", "scripts/extract.py"),
        ("scripts/sub/extract.sh", "scripts/sub/extract.sh"),
        ("./scripts/extract.py", "scripts/extract.py"),
        ("sub/extract.sh", "scripts/sub/extract.sh"),
        ("extract.sh", "scripts/sub/extract.sh"),
        ("extract.js", "scripts/extract.js"),
        ("top", "top.py"),
    ],
)
def test_a_script_is_found_by_name_or_path_the_nearest_in_scripts_first(
    tmp_path: Path, wanted: str, found: str
) -> None:
    files = ("extract.py", "scripts/extract.py", "scripts/extract.js", "scripts/sub/extract.sh", "top.py")
    assert str(find_script(write_skill(tmp_path / "s", dict.fromkeys(files, "")), wanted).path) == found


def test_validation_refuses_what_contradicts_itself(tmp_path: Path) -> None:
    skill = write_skill(tmp_path / "s", {"scripts/a.py": ""})
    for script in scripts_of(skill):
        validate_script_metadata(script, skill.root)
    wrong = (
        (ScriptMetadata("a", Path("/s/a.py"), "python", ""), "relative"),
        (ScriptMetadata("a", Path("a.py"), "cobol", ""), "type"),  # type: ignore[arg-type]
        (ScriptMetadata("b", Path("a.py"), "python", ""), "mismatch"),
        (ScriptMetadata("a", Path("../a.py"), "python", ""), "out of the skill"),
    )
    for script, why in wrong:
        with pytest.raises(ValueError, match=why):
            validate_script_metadata(script, skill.root)


def test_the_dotted_name_of_the_seed_remains() -> None:
    assert metadata("scripts/extract.py").get_fully_qualified_name("pdf") == "pdf.extract"


def named(*scripts: str, skill: str = "pdf") -> list[str]:
    given = [metadata(path) for path in scripts]
    names = script_tool_names(Skill(skill, Path("/skills")), given)
    assert list(names.values()) == given
    assert all(re.fullmatch("[a-z0-9-]+__[a-z0-9_]+", name) and len(name) <= 60 for name in names)
    return list(names)


def test_tools_are_named_after_skill_and_script() -> None:
    assert named("scripts/extract.py", "scripts/Fill-Form.v2.py") == ["pdf__extract", "pdf__fill_form_v2"]
    assert named("größe.py", skill="Größe") == ["gr--e__gr__e"]


def test_tools_of_one_name_are_told_apart_by_folder_then_by_extension() -> None:
    assert named("scripts/a/run.py", "scripts/b/run.py") == ["pdf__scripts_a_run", "pdf__scripts_b_run"]
    assert named("scripts/run.py", "scripts/run.sh") == ["pdf__scripts_run_py", "pdf__scripts_run_sh"]
    assert named("scripts/a-b.py", "scripts/a_b.py", "scripts_a_b.py")[2] == "pdf__scripts_a_b"
    assert len(set(named("scripts/a-b.py", "scripts/a_b.py", "scripts/a.b.py"))) == 3


def test_tool_names_that_are_too_long_are_cut_and_stay_apart() -> None:
    one, two = named(f"{'x' * 80}1.py", f"{'x' * 80}2.py")
    assert one != two and one.startswith("pdf__xxxxx")
    assert named("run.py", skill="s" * 64)[0].startswith("s" * 40 + "__run_")


def test_a_script_as_a_tool_carries_what_is_known_of_it(tmp_path: Path) -> None:
    skill = write_skill(tmp_path / "pdf", {"scripts/extract.py": "# Extract."})
    (tool,) = script_tools(skill, scripts_of(skill))
    assert tool.model_dump() == {
        "tool": "pdf__extract", "script": "scripts/extract.py", "description": "Extract.", "language": "python",
        "parameters": None,
    }  # fmt: skip
