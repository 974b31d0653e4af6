"""What a skill's schemas hold: arguments before anything runs, results after it, the configuration for every run."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.workers.skill_folders import write_skill
from tests.workers.toolboxes import DeclaringCatalog, context, toolbox_in

from skillfleet_workers.given import CONFIG
from skillfleet_workers.schemas import (
    TOLD_ERRORS,
    ArgumentsDoNotFitError,
    ConfigDoesNotFitError,
    UnusableSchemaError,
    fitting_arguments,
    fitting_config,
    fitting_result,
)
from skillfleet_workers.skills.models import Skill
from skillfleet_workers.skills.override_file import Override
from skillfleet_workers.tools import Toolbox
from skillfleet_workers.wire.contract import (
    Document,
    ExecuteCode,
    GetSkill,
    RunPythonScript,
    RunSkillScript,
    SearchSpec,
    ToolError,
)
from skillfleet_workers.wire.execution import ScriptExecution

NAVIGATE = {
    "type": "object",
    "properties": {"location": {"type": "string"}, "speed": {"type": "number", "default": 1.0, "maximum": 5}},
    "required": ["location"],
}
RETURNS = {"type": "object", "properties": {"status": {"type": "string"}}, "required": ["status"]}
ECHO = "import json, sys; print(json.dumps(json.load(sys.stdin)))"
READS = f"import json, os; print(json.dumps(json.load(open(os.environ['{CONFIG}']))))"
Parts = tuple[Toolbox, DeclaringCatalog]


@pytest.fixture(scope="module")
def overrides() -> dict[str, Override]:
    return {}


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory, overrides: dict[str, Override]) -> Iterator[Parts]:
    folder = tmp_path_factory.mktemp("schemas")
    (folder / "skills").mkdir()
    with toolbox_in(folder, overrides=lambda name: overrides.get(name, Override())) as made:
        yield made


def write(parts: Parts, files: dict[str, str], **declared: Any) -> None:
    root = parts[0].artifacts_folder.parent / "skills" / "lab"
    for old in root.glob("*.py"):
        old.unlink()
    write_skill(root, {"SKILL.md": "---\nname: lab\ndescription: For tests.\n---\n", **files})
    parts[1].declared["lab"] = declared


def run(parts: Parts, script: str = "go", **more: Any) -> ScriptExecution | ToolError:
    return parts[0].run_script(RunSkillScript(skill_name="lab", script=script, **more), context())


def printed(found: ScriptExecution | ToolError) -> Any:
    assert isinstance(found, ScriptExecution) and found.success, found
    return json.loads(found.stdout)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (None, "'location' is a required property"),
        ({"location": 5}, "location: 5 is not of type 'string'"),
        ({"location": "x", "speed": 6}, "speed: 6 is greater than the maximum of 5"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_before_anything_runs(
    parts: Parts, arguments: dict[str, Any] | None, named: str
) -> None:
    write(parts, {"go.py": "import sys; sys.exit('it ran')"}, parameters_schema=NAVIGATE)
    refused = run(parts, arguments=arguments)
    assert isinstance(refused, ToolError) and refused.error == "arguments_do_not_fit"
    assert named in refused.message and "go.py" in refused.message and refused.fix


def test_arguments_that_fit_arrive_with_the_defaults_of_what_is_missing(parts: Parts) -> None:
    write(parts, {"go.py": ECHO}, parameters_schema=NAVIGATE)
    assert printed(run(parts, arguments={"location": "kitchen"})) == {"location": "kitchen", "speed": 1.0}
    assert printed(run(parts, arguments={"location": "k", "speed": 2})) == {"location": "k", "speed": 2}


def test_the_schema_is_about_the_entry_and_no_other_script(parts: Parts) -> None:
    write(parts, {"go.py": ECHO, "other.py": ECHO}, parameters_schema=NAVIGATE, returns_schema=RETURNS, entry="go")
    assert isinstance(run(parts, "go", arguments={}), ToolError)
    assert printed(run(parts, "other", arguments={})) == {}
    document = parts[0].get_skill(GetSkill(skill_name="lab"), context())
    assert isinstance(document, Document)
    assert {tool.script: tool.parameters for tool in document.scripts} == {"go.py": NAVIGATE, "other.py": None}


def test_of_several_scripts_without_an_entry_none_is_governed(parts: Parts) -> None:
    write(parts, {"go.py": ECHO, "other.py": ECHO}, parameters_schema=NAVIGATE)
    assert printed(run(parts, "go", arguments={})) == {}


@pytest.mark.parametrize(
    ("prints", "named"),
    [
        ("print('{\"status\": 5}')", "status: 5 is not of type 'string'"),
        ("print('{}')", "'status' is a required property"),
        ("print('words')", "it is no JSON"),
        ("print('{\"status\": NaN}')", "it is no JSON"),
        ("", "it is no JSON"),
    ],
)
def test_a_result_that_does_not_fit_is_a_protocol_violation(parts: Parts, prints: str, named: str) -> None:
    write(parts, {"go.py": prints}, returns_schema=RETURNS)
    done = run(parts)
    assert isinstance(done, ScriptExecution)
    assert (done.status, done.returncode, done.success) == ("protocol_violation", 0, False)
    assert named in (done.error or "")


def test_a_result_that_fits_and_a_failure_stay_what_they_are(parts: Parts) -> None:
    write(parts, {"go.py": 'print(\'{"status": "ok"}\')'}, returns_schema=RETURNS)
    assert printed(run(parts)) == {"status": "ok"}
    write(parts, {"go.py": "import sys; sys.exit(3)"}, returns_schema=RETURNS)
    failed = run(parts)
    assert isinstance(failed, ScriptExecution) and (failed.status, failed.error) == ("failed", None)


def skill(**declared: Any) -> Skill:
    return Skill("s", Path("/s"), **declared)


def test_of_many_errors_the_first_are_told() -> None:
    schema = {"additionalProperties": {"type": "string"}}
    with pytest.raises(ArgumentsDoNotFitError) as refused:
        fitting_arguments(skill(parameters_schema=schema), "go.py", {f"f{n}": n for n in range(20)})
    assert str(refused.value).count("is not of type") == TOLD_ERRORS
    assert str(refused.value).endswith(f"and {20 - TOLD_ERRORS} more")


@pytest.mark.parametrize("schema", [{"type": "nothing"}, {"pattern": "("}, {"properties": {"a": 5}}])
def test_a_schema_that_is_none_is_told(schema: dict[str, Any]) -> None:
    with pytest.raises(UnusableSchemaError, match="parameters_schema of skill 's'"):
        fitting_arguments(skill(parameters_schema=schema), "go.py", {"a": 1})
    run = ScriptExecution(status="succeeded", returncode=0, stdout="{}")
    assert "cannot be used" in (fitting_result(skill(returns_schema=schema), run).error or "")


@pytest.mark.parametrize(
    "schema", [{"$ref": "#"}, {"$ref": "#/nowhere"}, {"properties": {"a": {"multipleOf": 0.01}}}]
)
def test_a_schema_that_cannot_be_held_against_the_arguments_is_told(schema: dict[str, Any]) -> None:
    with pytest.raises(ArgumentsDoNotFitError, match="the schema"):
        fitting_arguments(skill(parameters_schema=schema), "go.py", {"a": 10**400})


def test_nothing_is_fetched_for_a_schema(tmp_path: Path) -> None:
    (tmp_path / "anything.json").write_text("{}")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0)
        port = listener.getsockname()[1]
        for place in (f"http://127.0.0.1:{port}/anything.json", f"file://{tmp_path}/anything.json"):
            with pytest.raises(ArgumentsDoNotFitError, match="which is not in it"):
                fitting_arguments(skill(parameters_schema={"$ref": place}), "go.py", {})
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_long_lists_are_held_against_the_schema_too() -> None:
    schema = {"properties": {"rows": {"items": {"type": "integer"}}}}
    rows: list[Any] = list(range(10_000))
    assert fitting_arguments(skill(parameters_schema=schema), "go.py", {"rows": rows}) == {"rows": rows}
    with pytest.raises(ArgumentsDoNotFitError, match=r"rows.10000: 'x' is not of type 'integer'"):
        fitting_arguments(skill(parameters_schema=schema), "go.py", {"rows": [*rows, "x"]})


def test_formats_are_no_check() -> None:
    schema = {"properties": {"when": {"format": "date"}}}
    assert fitting_arguments(skill(parameters_schema=schema), "go.py", {"when": "soon"}) == {"when": "soon"}


CONFIG_SCHEMA = {
    "type": "object",
    "properties": {"url": {"type": "string", "minLength": 1}, "size": {"type": "integer", "default": 3}},
}


def test_scripts_read_the_configuration_with_defaults_variables_and_overrides(
    parts: Parts, overrides: dict[str, Override], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_HOST", "worker.example")
    monkeypatch.setenv("LLM_API_KEY", "secret")
    own = {
        "url": "http://${THE_HOST}/${FROM_OVERRIDE}",
        "deep": [{"key": "${LLM_API_KEY}", "no": "a${NOT_SET}"}],
        "size": 4,
    }
    own["unset"] = "${NOT_SET}"
    write(parts, {"go.py": READS}, config=own, config_schema=CONFIG_SCHEMA)
    filled = {"url": "http://worker.example/", "deep": [{"key": None, "no": "a"}], "size": 4}
    assert printed(run(parts)) == filled
    overrides["lab"] = Override(env={"FROM_OVERRIDE": "x"}, config={"size": 9})
    try:
        assert printed(run(parts)) == filled | {"url": "http://worker.example/x", "size": 9}
        python = RunPythonScript(skill_name="lab", script=READS)
        assert printed(parts[0].run_python(python, context()))["size"] == 9
    finally:
        del overrides["lab"]
    write(parts, {"go.py": READS}, config_schema=CONFIG_SCHEMA)
    assert printed(run(parts)) == {"size": 3}


@pytest.mark.parametrize("tool", ["run_script", "run_python", "execute_code", "search"])
def test_with_a_configuration_that_does_not_fit_nothing_runs(parts: Parts, tool: str) -> None:
    config = {"url": "", "size": "${NOT_SET}"}
    write(parts, {"go.py": READS, "s.json": "{}"}, config=config, config_schema=CONFIG_SCHEMA, spec="s.json")
    requests = {
        "run_script": RunSkillScript(skill_name="lab", script="go"),
        "run_python": RunPythonScript(skill_name="lab", script="print(1)"),
        "execute_code": ExecuteCode(skill_name="lab", code="1"),
        "search": SearchSpec(skill_name="lab", code="1"),
    }
    refused = getattr(parts[0], tool)(requests[tool], context())
    assert isinstance(refused, ToolError) and refused.error == "config_does_not_fit"
    assert "url" in refused.message


@pytest.mark.parametrize(
    "rule",
    [{"minLength": 50}, {"pattern": "^pk"}, {"enum": ["a"]}, {"anyOf": [{"type": "null"}]}, {"type": "object"}],
)
def test_of_a_configuration_that_does_not_fit_no_value_is_told(rule: dict[str, Any]) -> None:
    lab = skill(config_schema={"properties": {"key": rule}, "required": ["key", "url"]})
    with pytest.raises(
        ConfigDoesNotFitError, match=r"key: it does not keep .*; 'url' is a required property"
    ) as told:
        fitting_config(lab, {"key": "sk-secret"})
    assert "sk-" not in str(told.value.tool_error())


def test_a_skill_without_a_configuration_is_given_no_file(parts: Parts) -> None:
    write(parts, {"go.py": f"import os; print(int('{CONFIG}' in os.environ))"})
    assert printed(run(parts)) == 0


def test_an_overrides_variables_reach_scripts_but_for_what_is_withheld(
    parts: Parts, overrides: dict[str, Override]
) -> None:
    write(parts, {"go.py": "import json, os; print(json.dumps({**os.environ}))"})
    overrides["lab"] = Override(env={"TOKEN": "t", "SKILL_NAME": "forged"})
    try:
        seen = printed(run(parts))
    finally:
        del overrides["lab"]
    assert (seen["TOKEN"], seen["SKILL_NAME"]) == ("t", "lab") and "LLM_API_KEY" not in seen


def test_an_overrides_variables_fill_the_context_of_code(parts: Parts, overrides: dict[str, Override]) -> None:
    ctx = '{"key": "${TOKEN}"}'
    write(parts, {"s.json": "{}", "c.json": ctx}, spec="s.json", context="c.json")
    overrides["lab"] = Override(env={"TOKEN": "t"})
    try:
        done = parts[0].execute_code(ExecuteCode(skill_name="lab", code="ctx"), context())
    finally:
        del overrides["lab"]
    assert isinstance(done, ScriptExecution) and done.result == {"key": "t"}, done
