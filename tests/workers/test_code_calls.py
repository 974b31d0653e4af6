"""Code mode as the worker's tools offer it: over the files of a skill."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Require
from tests.workers.skill_folders import write_skill
from tests.workers.strongest import BEHIND, strongest

from skillfleet_workers.environments.build import Environments
from skillfleet_workers.runtimes.shapes import SHAPE_CHARS, shape
from skillfleet_workers.skills.catalog import SkillCatalog
from skillfleet_workers.skills.models import Skill
from skillfleet_workers.tools import CallContext, Toolbox
from skillfleet_workers.wire.contract import CallRef, Document, ExecuteCode, GetSkill, SearchSpec, ToolError
from skillfleet_workers.wire.execution import ScriptExecution
from skillfleet_workers.wire.shown import output_tail, shown_to_model

CONTEXT = CallContext(CallRef(conversation_id="c", turn=1, index=0), None, threading.Event())

API = """---
name: api
description: A service.
timeout: 17
metadata:
  skillfleet:
    spec: spec/api.json
    context: ctx.json
    imports: [client.calls, statistics]
    env: [API_TOKEN, NOT_SET]
    network: host
---
# Api
"""
CTX = {"base": "https://api", "token": "${API_TOKEN}", "none": "${NOT_SET}", "kept": ["${HOME}", "a ${API_TOKEN}"]}
CALLS = """
import os
print("a module of the skill")
def call(path):
    if path == "/bad":
        raise LookupError("no such path")
    return [path, os.environ["API_TOKEN"]]
"""


def declared(**own: str) -> str:
    lines = "".join(f"    {name}: {value}\n" for name, value in own.items())
    return f"---\ndescription: S.\nmetadata:\n  skillfleet:\n{lines}---\nWords.\n"


@pytest.fixture(scope="module")
def toolbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toolbox]:
    folder = tmp_path_factory.mktemp("code")
    skills = folder / "skills"
    spec = json.dumps({"paths": {"/users": {}, "/pets": {}}})
    write_skill(
        skills / "api",
        {"SKILL.md": API, "spec/api.json": spec, "ctx.json": json.dumps(CTX), "client/calls.py": CALLS,
         "scripts/search.py": ""},
    )  # fmt: skip
    write_skill(skills / "plain", {"SKILL.md": "---\ndescription: P.\n---\n"})
    write_skill(skills / "only-spec", {"SKILL.md": declared(spec="s.json"), "s.json": b"\xef\xbb\xbf[1, 2]"})
    write_skill(skills / "torn", {"SKILL.md": declared(spec="s.json"), "s.json": '{"a": '})
    write_skill(skills / "in-process", {"SKILL.md": declared(spec="s.json", runtime="inprocess"), "s.json": "1"})
    write_skill(skills / "gone", {"SKILL.md": declared(spec="nowhere.json")})
    write_skill(skills / "outside", {"SKILL.md": declared(spec="../plain/SKILL.md")})
    with strongest(folder) as runtime:
        yield Toolbox(SkillCatalog(skills), Environments(folder / "environments"), runtime, 41, folder / "artifacts")


def search(toolbox: Toolbox, skill: str, code: str, **more: Any) -> ScriptExecution | ToolError:
    return toolbox.search(SearchSpec(skill_name=skill, code=code, **more), CONTEXT)


def execute(toolbox: Toolbox, code: str, skill: str = "api") -> ScriptExecution:
    run = toolbox.execute_code(ExecuteCode(skill_name=skill, code=code), CONTEXT)
    assert isinstance(run, ScriptExecution), run
    return run


def test_search_finds_the_spec_and_no_context(toolbox: Toolbox) -> None:
    run = search(toolbox, "api", "sorted(spec['paths'])")
    assert isinstance(run, ScriptExecution)
    assert (run.result, run.skill_name, run.script, run.timeout) == (
        ["/pets", "/users"], "api", "sorted(spec['paths'])", 17,
    )  # fmt: skip
    refused = search(toolbox, "api", "ctx")
    assert isinstance(refused, ScriptExecution) and "name 'ctx' is not defined" in refused.stderr


def test_the_context_has_the_declared_variables_filled_in_and_no_others(
    toolbox: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_TOKEN", "t0")
    filled = {"base": "https://api", "token": "t0", "none": None, "kept": ["${HOME}", "a ${API_TOKEN}"]}
    assert execute(toolbox, "ctx").result == filled


def test_code_calls_the_modules_that_the_skill_allows_and_they_may_do_what_they_need(
    toolbox: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_TOKEN", "t0")
    code = "from client.calls import call\nimport statistics\ncall('/users') + [statistics.mean([1, 3])]"
    run = execute(toolbox, code)
    assert (run.result, run.stdout) == (["/users", "t0", 2], "a module of the skill\n")
    failed = execute(toolbox, "from client.calls import call\ncall('/bad')")
    assert failed.stderr.splitlines()[-3:] == ['  File "<code>", line 2, in <module>', "    call('/bad')",
                                               "LookupError: no such path"]  # fmt: skip
    assert "allowed: json, re, math" in execute(toolbox, "import client.other").stderr


def test_a_search_reaches_no_network_even_where_its_skill_may(toolbox: Toolbox, require: Require) -> None:
    network = f"{BEHIND}['readlink']('/proc/self/ns/net')"
    alone, shared = search(toolbox, "api", network), execute(toolbox, network)
    require(shared.isolation == "sandbox", "nothing holds hostile code here")
    assert isinstance(alone, ScriptExecution)
    assert shared.result == str(Path("/proc/self/ns/net").readlink()) != alone.result


def test_a_skill_without_a_context_has_an_empty_one(toolbox: Toolbox) -> None:
    assert execute(toolbox, "[spec, ctx]", "only-spec").result == [[1, 2], {}]
    read = toolbox.get_skill(GetSkill(skill_name="only-spec"), CONTEXT)
    assert isinstance(read, Document)
    assert read.scripts[-1].description == "in only-spec, spec is [2 of number]; ctx has nothing."


@pytest.mark.parametrize(
    ("skill", "code"),
    [("plain", "no_spec"), ("gone", "file_not_found"), ("outside", "path_outside_skill"), ("none", "unknown_skill")],
)  # fmt: skip
def test_a_skill_that_has_no_readable_spec_is_a_tool_error(toolbox: Toolbox, skill: str, code: str) -> None:
    refused = search(toolbox, skill, "spec")
    assert isinstance(refused, ToolError) and refused.error == code


def test_a_spec_that_is_no_json_is_said_to_be_none(toolbox: Toolbox) -> None:
    run = search(toolbox, "torn", "spec")
    assert isinstance(run, ScriptExecution)
    assert (run.status, run.returncode) == ("failed", 1)
    assert run.stderr.startswith("spec: s.json is no JSON: ")
    read = toolbox.get_skill(GetSkill(skill_name="torn"), CONTEXT)
    assert isinstance(read, Document) and "s.json is no JSON" in read.scripts[0].description


def test_no_skill_has_its_code_run_in_the_worker_itself(toolbox: Toolbox) -> None:
    run = search(toolbox, "in-process", "spec")
    assert isinstance(run, ScriptExecution)
    assert (run.result, run.isolation != "none", run.runtime != "inprocess") == (1, True, True)
    skill = toolbox.catalog.find("in-process")
    assert isinstance(skill, Skill)
    assert "'inprocess' is none of auto, warm, process, container" in skill.problems[0].message


def test_what_is_declared_wrongly_is_left_out_with_a_warning(tmp_path: Path) -> None:
    wrong = declared(spec="[a.json]", context="{a: b}", imports="[os.path, 'not a name', ok]")
    write_skill(tmp_path / "wrong", {"SKILL.md": wrong})
    skill = SkillCatalog(tmp_path).find("wrong")
    assert isinstance(skill, Skill)
    assert (skill.spec, skill.context, skill.imports) == (None, None, ("os.path", "ok"))
    assert {problem.message for problem in skill.problems} == {
        "spec is no path of a file; ignored", "context is no path of a file; ignored",
        "imports: 'not a name' is no name of a module; ignored",
    }  # fmt: skip


def test_reading_a_skill_with_a_spec_brings_the_two_tools_beside_its_scripts(toolbox: Toolbox) -> None:
    read = toolbox.get_skill(GetSkill(skill_name="api"), CONTEXT)
    assert isinstance(read, Document)
    tools = [(tool.tool, tool.script) for tool in read.scripts]
    assert tools == [("search", ""), ("execute", ""), ("api__search", "scripts/search.py")]
    shown = shown_to_model(read)
    assert "- search: in api, spec is {paths: {'/users': {}, '/pets': {}}}" in shown
    assert "ctx has base, token, none, kept; may import client.calls, statistics too." in shown
    assert "https://api" not in shown
    plain = toolbox.get_skill(GetSkill(skill_name="plain"), CONTEXT)
    assert isinstance(plain, Document) and plain.scripts == ()


def test_what_the_model_and_people_are_shown_has_the_result(toolbox: Toolbox) -> None:
    run = execute(toolbox, "print('words')\nresult = {'n': [1]}", "only-spec")
    shown = json.loads(shown_to_model(run))
    assert (shown["status"], shown["result"], shown["stdout"]) == ("succeeded", {"n": [1]}, "words\n")
    assert output_tail(run) == '{"n": [1]}'
    assert ScriptExecution.model_validate_json(run.model_dump_json()).result == {"n": [1]}


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ({"a": 1, "b c": [], "d": {}}, "{a, 'b c': [], d: {}}"),
        ({"paths": {"/x": {"get": {}}}, "tags": [{"name": "t"}] * 12}, "{paths: {'/x': {...}}, tags: [12 of {...}]}"),
        ([{"id": 1, "of": [2]}] * 3, "[3 of {id, of: [1 of ...]}]"),
        ([1.5, 2], "[2 of number]"), ("text", "text"), (None, "null"), (True, "true or false"),
        ({str(n): n for n in range(15)}, "{" + ", ".join(f"'{n}'" for n in range(12)) + ", ... 3 more}"),
    ],
)  # fmt: skip
def test_data_is_described_by_its_shape(value: object, line: str) -> None:
    assert shape(value) == line


def test_the_shape_of_large_data_is_one_short_line() -> None:
    wide: dict[str, object] = {
        f"a rather long name of a key, number {n}": {str(m) * 99: {} for m in range(99)} for n in range(99)
    }
    line = shape(wide)
    assert len(line) <= SHAPE_CHARS and "\n" not in line
