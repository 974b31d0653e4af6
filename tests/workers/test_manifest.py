"""skill.json, alone and beside SKILL.md; prompt.md, config.json and its schema."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.workers.skill_folders import write_skill

from skillfleet_workers.skills.config_values import filled
from skillfleet_workers.skills.models import Skill, Skipped
from skillfleet_workers.skills.reading import documents, marks_skill, read_skill

MANIFEST: dict[str, Any] = {
    "name": "calc", "version": "1.2.3", "description": "Adds numbers.", "displayName": "Calc", "author": "Me",
    "license": "MIT", "homepage": "https://calc.test/x", "tags": ["math"], "priority": 70, "capabilities": ["add"],
}  # fmt: skip
MARKDOWN = "---\nname: calc\ndescription: Prose.\nlicense: BSD\n---\n# Calc\n"


def read(tmp_path: Path, files: dict[str, str | bytes], folder: str = "calc") -> Skill | Skipped:
    write_skill(tmp_path / folder, files)
    return read_skill(tmp_path / folder)


def loaded(tmp_path: Path, files: dict[str, str | bytes], folder: str = "calc") -> Skill:
    skill = read(tmp_path, files, folder)
    assert isinstance(skill, Skill), skill
    return skill


def manifest(**changes: object) -> str:
    return json.dumps({name: value for name, value in (MANIFEST | changes).items() if value is not None}, indent=1)


def codes(skill: Skill | Skipped) -> list[str]:
    return [problem.code for problem in skill.problems]


def test_a_folder_with_skill_json_alone_is_a_skill(tmp_path: Path) -> None:
    skill = loaded(tmp_path, {"skill.json": manifest(), "prompt.md": "Behave."})
    assert skill == Skill(
        "calc", (tmp_path / "calc").resolve(), description="Adds numbers.", version="1.2.3", display_name="Calc",
        author="Me", license="MIT", homepage="https://calc.test/x", tags=("math",),
        priority=70, capabilities=("add",),
        prompt="prompt.md", formats=("skill_json",),
    )  # fmt: skip


@pytest.mark.parametrize(
    "changes",
    [{"name": "c"}, {"name": "Calc"}, {"name": "x" * 51}, {"name": "-calc"},
     {"name": 5}, {"name": None},
     {"version": "1.2"},
     {"version": "1.2.3\n"}, {"version": None}, {"description": "Adds."}, {"description": "x" * 501},
     {"displayName": "x" * 101}, {"author": "x" * 101}, {"license": "x" * 51}, {"homepage": "no uri"},
     {"tags": ["a", "a"]},
     {"tags": "a"}, {"priority": 101}, {"priority": -1}, {"priority": 1.5}, {"priority": True},
     {"capabilities": [1]}],
    ids=str,
)  # fmt: skip
def test_a_field_of_skill_json_that_breaks_its_rule_warns_and_loads(tmp_path: Path, changes: dict[str, Any]) -> None:
    skill = loaded(tmp_path, {"skill.json": manifest(**changes)})
    ((field, value),) = changes.items()
    (problem,) = skill.problems
    assert problem.code == ("field-missing" if value is None else "field-invalid")
    assert problem.message.startswith(field)
    line = 1 + next((n for n, text in enumerate(manifest(**changes).splitlines()) if f'"{field}"' in text), -2)
    assert problem.line == (line if value is not None else None)
    assert skill.name == "calc" and skill.description == (changes.get("description") or "Adds numbers.")


@pytest.mark.parametrize(
    "changes",
    [{"name": "ca"}, {"name": "x" * 50}, {"version": "10.20.30"}, {"description": "x" * 10},
     {"description": "x" * 500},
     {"displayName": "x" * 100}, {"license": "x" * 50}, {"homepage": "mailto:me@calc.test"}, {"tags": []},
     {"priority": 0},
     {"priority": 100}, {"priority": 50.0}, {"unknown": 1}],
    ids=str,
)  # fmt: skip
def test_a_field_of_skill_json_at_its_limit_is_right(tmp_path: Path, changes: dict[str, Any]) -> None:
    skill = loaded(tmp_path, {"skill.json": manifest(**changes)}, str(changes.get("name", "calc")))
    assert skill.problems == ()
    assert isinstance(skill.priority, int)


@pytest.mark.parametrize(
    ("text", "code"),
    [("{", "json-invalid"), ("", "json-invalid"), ("[]", "json-not-an-object"),
     ('{"version": NaN}', "json-invalid"),
     (b"\xff", "json-invalid"), ("[" * 100_000, "json-invalid"), ("1" * 5_000, "json-invalid"),
     (" " * 300_000, "file-too-large"),
     (manifest(description=None), "description-missing"), (manifest(description=" "), "description-missing"),
     (manifest(description=["x"]), "description-missing"), ("{}", "description-missing")],
    ids=range(12),
)  # fmt: skip
def test_without_a_readable_description_skill_json_alone_is_skipped(
    tmp_path: Path, text: str | bytes, code: str
) -> None:
    skipped = read(tmp_path, {"skill.json": text})
    assert isinstance(skipped, Skipped)
    assert [problem.code for problem in skipped.problems if problem.severity == "error"] == [code]
    beside = read(tmp_path, {"skill.json": text, "SKILL.md": MARKDOWN})
    assert isinstance(beside, Skill) and beside.description == "Prose."
    assert beside.problems or "description" in code


def test_an_error_in_skill_json_has_its_line(tmp_path: Path) -> None:
    skipped = read(tmp_path, {"skill.json": '{\n "name": "calc",\n "version": }'})
    assert (skipped.problems[0].line, skipped.problems[0].file) == (3, "skill.json")


def test_skill_md_gives_the_prose_and_skill_json_the_rest(tmp_path: Path) -> None:
    skill = loaded(tmp_path, {"SKILL.md": MARKDOWN, "skill.json": manifest(), "prompt.md": "Behave."})
    assert (skill.description, skill.license, skill.version, skill.priority) == ("Prose.", "MIT", "1.2.3", 70)
    assert (skill.documentation, skill.body_offset, skill.prompt) == (
        "SKILL.md",
        MARKDOWN.index("# Calc"),
        "prompt.md",
    )
    assert (skill.formats, skill.problems) == (("skill_md", "skill_json"), ())


def test_skill_json_describes_where_skill_md_does_not(tmp_path: Path) -> None:
    skill = loaded(tmp_path, {"SKILL.md": "---\nname: calc\n---\n", "skill.json": manifest()})
    assert skill.description == "Adds numbers."


def test_a_name_or_a_version_that_differs_is_told(tmp_path: Path) -> None:
    versioned = MARKDOWN.replace("license", 'version: "2.0.0"\nlicense')
    skill = loaded(tmp_path, {"SKILL.md": versioned, "skill.json": manifest(name="other")})
    assert (skill.name, skill.version) == ("calc", "1.2.3")
    assert codes(skill) == ["name-differs", "version-differs"]


def test_the_folders_version_holds(tmp_path: Path) -> None:
    skill = loaded(tmp_path, {"skill.json": manifest()}, "calc@2.0.0")
    assert (skill.name, skill.version, codes(skill)) == ("calc", "2.0.0", ["version-differs"])


SCHEMA = json.dumps({
    "type": "object", "required": ["host"],
    "properties": {"host": {"type": "string"}, "port": {"type": "integer", "maximum": 65535},
    "mode": {"enum": ["a", "b"]}},
})  # fmt: skip


def test_a_configuration_that_fits_is_the_skills(tmp_path: Path) -> None:
    config = '{"host": "${HOST}", "port": "${PORT}", "mode": "a"}'
    skill = loaded(tmp_path, {"skill.json": manifest(), "config-schema.json": SCHEMA, "config.json": config})
    assert (skill.config, skill.config_schema) == (json.loads(config), json.loads(SCHEMA))
    assert skill.problems == ()


def test_every_value_that_does_not_fit_is_listed_and_the_skill_loads(tmp_path: Path) -> None:
    config = '{\n"port": 70000,\n"mode": "c",\n"host": 1}'
    skill = loaded(tmp_path, {"skill.json": manifest(), "config-schema.json": SCHEMA, "config.json": config})
    assert codes(skill) == ["config-invalid"] * 3
    assert {problem.line for problem in skill.problems} == {2, 3, 4}
    missing = loaded(tmp_path, {"config.json": "{}"})
    assert [(p.code, "'host' is a required" in p.message) for p in missing.problems] == [("config-invalid", True)]


REFERRING = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(40)} | {"a40": {"type": "object"}}


@pytest.mark.parametrize(
    ("schema", "config", "code"),
    [("{", "{}", "schema-invalid"), ("[]", "{}", "schema-invalid"), ('{"type": "nothing"}', "{}", "schema-invalid"),
     (SCHEMA, "{", "config-invalid"), (SCHEMA, "[]", "config-invalid"),
     ('{"$ref": "http://x.test/s"}', "{}", "config-invalid"),
     ('{"$ref": "#"}', "{}", "config-invalid"),
     (json.dumps({"$defs": REFERRING, "$ref": "#/$defs/a0"}), "{}", "config-invalid"),
     ('{"$id": "http://[", "$ref": "x"}', "{}", "config-invalid"),
     ('{"$ref": "#/allOf/x", "allOf": [true]}', "{}", "config-invalid"),
     ('{"properties": {"a": {"$schema": "http://json-schema.org/draft-04/schema#"}}}', "{}", "schema-invalid"),
     (json.dumps({"enum": [[n] for n in range(3000)]}), "{}", "schema-invalid")],
    ids=range(12),
)  # fmt: skip
def test_a_configuration_that_cannot_be_checked_is_told_and_the_skill_loads(
    tmp_path: Path, schema: str, config: str, code: str
) -> None:
    skill = loaded(tmp_path, {"skill.json": manifest(), "config-schema.json": schema, "config.json": config})
    assert codes(skill) == [code]


def test_an_expression_of_a_stranger_does_not_hold_the_worker_up(tmp_path: Path) -> None:
    slow = {
        "properties": {"a": {"pattern": "(x+x+)+y"}},
        "patternProperties": {"(x+x+)+y": {}},
        "additionalProperties": True,
    }
    config = {"a": "x" * 500, "x" * 500: 1}
    files = {"config-schema.json": json.dumps(slow), "config.json": json.dumps(config)}
    [told] = loaded(tmp_path, {"skill.json": manifest(), **files}).problems
    assert told.code == "config-invalid" and told.message.endswith("took too long")


def test_files_of_these_names_mean_nothing_to_a_skill_that_does_not_speak_of_them(tmp_path: Path) -> None:
    skill = loaded(tmp_path, {"SKILL.md": MARKDOWN, "config.json": "[1]", "prompt.md": "An asset."})
    assert (skill.config, skill.prompt, skill.problems) == (None, None, ())
    asking = MARKDOWN.replace("license: BSD", "metadata:\n  requires:\n    config: [key]")
    assert loaded(tmp_path, {"SKILL.md": asking, "config.json": '{"key": 1}'}).config == {"key": 1}


def test_variables_are_filled_into_texts() -> None:
    config = {"a": "${A}", "b": ["x-${A}-${NONE}", {"c": "${NONE}"}], "d": 1, "e": "${LLM_API_KEY}", "f": "$A ${A"}
    environ = {"A": "1 ${B}", "B": "2", "LLM_API_KEY": "secret"}
    assert filled(config, environ) == {
        "a": "1 ${B}",
        "b": ["x-1 ${B}-", {"c": None}],
        "d": 1,
        "e": None,
        "f": "$A ${A",
    }


def test_the_files_that_decide_are_named(tmp_path: Path) -> None:
    write_skill(
        tmp_path / "calc", {"Skill.md": "", "skill.json": "", "config.json": "", "README.md": "", "x/SKILL.md": ""}
    )
    assert documents(tmp_path / "calc") == ("Skill.md", "config.json", "skill.json")
    assert marks_skill(["skill.json"]) and marks_skill(["sKILL.mD"])
    assert not marks_skill(["README.md", "config.json", "SKILL.md.txt"])


def test_a_file_that_leads_out_of_the_folder_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text(manifest())
    write_skill(tmp_path / "calc", {"SKILL.md": MARKDOWN})
    (tmp_path / "calc" / "skill.json").symlink_to("../secret.json")
    skill = read_skill(tmp_path / "calc")
    assert isinstance(skill, Skill) and codes(skill) == ["file-unreadable"] and skill.author == ""
