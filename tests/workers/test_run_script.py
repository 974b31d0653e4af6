"""A skill's own scripts as the tool run_skill_script runs them: all five languages, every way of input."""

import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Require
from tests.workers.skill_folders import write_skill

from skillfleet_workers.environments.build import Environments
from skillfleet_workers.given import script_environment
from skillfleet_workers.runtimes.base import Limits, RunRequest
from skillfleet_workers.runtimes.process import ProcessRuntime
from skillfleet_workers.script_calls import CLEAN_PATH
from skillfleet_workers.skills.catalog import SkillCatalog
from skillfleet_workers.skills.models import Skill
from skillfleet_workers.tools import CallContext, Toolbox
from skillfleet_workers.wire.contract import (
    CallRef,
    Document,
    GetSkill,
    RunPythonScript,
    RunSkillScript,
    ScriptTool,
    ToolError,
)
from skillfleet_workers.wire.execution import ScriptExecution
from skillfleet_workers.wire.shown import SHOWN_SCRIPTS, shown_to_model

CONTEXT = CallContext(CallRef(conversation_id="c", turn=1, index=0), None, threading.Event())

LANGUAGES = {
    "py": ("python3", "# Echo.\nimport os, sys\nprint(sys.stdin.read(), sys.argv[1:], os.getcwd(), sep='|')"),
    "sh": ("bash", "# Echo.\necho \"$(cat)|['$1', '$2']|$PWD\""),
    "js": (
        "node",
        "// Echo.\nconst [a, b] = process.argv.slice(2)\n"
        "console.log([require('fs').readFileSync(0, 'utf8'), `['${a}', '${b}']`, process.cwd()].join('|'))",
    ),
    "rb": ("ruby", "# Echo.\nputs [STDIN.read, \"['#{ARGV[0]}', '#{ARGV[1]}']\", Dir.pwd].join('|')"),
    "pl": ("perl", "# Echo.\nuse Cwd;\nprint join('|', <STDIN>, \"['$ARGV[0]', '$ARGV[1]']\", getcwd()), \"\\n\";"),
}
"""Extension to the interpreter, and a script that shows what it was given."""

OWN = """---
name: lab
description: Lab.
allowed-tools: Bash Read
metadata:
  skillfleet:
    env: [GRANTED, NOT_SET, PATH]
    protocol: {plain: text, always: json, tool: ndjson}
---
# Lab
"""
ENVIRONMENT = "import json, os; print(json.dumps({**os.environ}))"
TOOL = """
import json, os, sys
asked = json.loads(sys.stdin.readline())
name = os.path.join(os.environ["SKILLFLEET_OUTPUT_DIR"], "a.txt")
open(name, "w").close()
def say(type, **fields):
    print(json.dumps({"version": "0", "type": type, **fields}))
say("log", level="info", message=json.dumps(asked))
say("state_patch", patch={"n": asked["input"].get("n")})
say("asset", assetId="1", kind="text", mediaType="text/plain", path=asked["input"].get("path", name))
say("done", ok=asked["input"].get("ok", True), summary="told")
sys.exit(asked["input"].get("code", 0))
"""


@pytest.fixture(scope="module")
def toolbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toolbox]:
    folder = tmp_path_factory.mktemp("scripts")
    echo = "import os, sys; print(repr(sys.stdin.read()))"
    files = {f"scripts/{extension}_echo.{extension}": source for extension, (_, source) in LANGUAGES.items()}
    files |= {f"scripts/{name}.py": echo for name in ("plain", "always", "usual")}
    files |= {
        "SKILL.md": OWN,
        "scripts/tool.py": TOOL,
        "scripts/env.py": "import json, os; print(json.dumps({**os.environ}))",
    }
    files |= {"core/inner.py": "WORD = 'inner'", "scripts/imports.py": "from core.inner import WORD; print(WORD)"}
    files |= {"scripts/sleeps.sh": "echo begun; sleep 600", "scripts/fails.pl": "print STDERR 'no'; exit 3;"}
    write_skill(folder / "skills" / "lab", files)
    write_skill(
        folder / "skills" / "shut", {"SKILL.md": "---\ndescription: S.\nallowed-tools: Read\n---\n", "a.py": ""}
    )
    (folder / "work").mkdir()
    runtime = ProcessRuntime(folder / "work")
    environments = Environments(folder / "environments")
    yield Toolbox(SkillCatalog(folder / "skills"), environments, runtime, 30, folder / "artifacts")
    runtime.close()


def run(toolbox: Toolbox, script: str, **more: Any) -> ScriptExecution:
    done = toolbox.run_script(RunSkillScript(skill_name="lab", script=script, **more), CONTEXT)
    assert isinstance(done, ScriptExecution), done
    return done


@pytest.mark.parametrize("extension", LANGUAGES)
def test_a_script_of_each_language_gets_its_arguments_and_runs_in_the_skills_root(
    toolbox: Toolbox, require: Require, extension: str
) -> None:
    interpreter = LANGUAGES[extension][0]
    require(shutil.which(interpreter, path=CLEAN_PATH) is not None, f"{interpreter} is not installed")
    done = run(toolbox, f"{extension}_echo", arguments={"ä": 1}, args=["-x", "two words; $(id)"])
    root = toolbox.artifacts_folder.parent / "skills" / "lab"
    assert done.stdout == f"{{\"ä\": 1}}|['-x', 'two words; $(id)']|{root}\n", done.stderr
    assert done.script_path == str(root / "scripts" / f"{extension}_echo.{extension}")
    assert Path(done.interpreter).name.startswith(interpreter.removesuffix("3"))


@pytest.mark.parametrize(
    ("script", "arguments", "stdin"),
    [
        ("usual", None, ""), ("usual", {}, "{}"), ("usual", {"a": [1, None]}, '{"a": [1, null]}'),
        ("always", None, "{}"), ("plain", None, ""), ("plain", {"stdin": "words\n"}, "words\n"),
    ],
)  # fmt: skip
def test_what_a_script_reads_is_what_its_protocol_says(
    toolbox: Toolbox, script: str, arguments: dict[str, Any] | None, stdin: str
) -> None:
    assert run(toolbox, script, arguments=arguments).stdout == f"{stdin!r}\n"


def test_a_script_that_reads_text_takes_no_object(toolbox: Toolbox) -> None:
    request = RunSkillScript(skill_name="lab", script="plain", arguments={"n": 1})
    refused = toolbox.run_script(request, CONTEXT)
    assert isinstance(refused, ToolError) and refused.error == "argument_serialization"
    assert "plain text" in refused.message


def test_a_script_of_the_ndjson_protocol_is_asked_and_understood(toolbox: Toolbox) -> None:
    done = run(toolbox, "tool", arguments={"n": 7})
    assert (done.status, done.events[-1]["state"]) == ("succeeded", {"n": 7})
    asked = {"requestId": CONTEXT.ref.task_id, "tool": "lab", "operation": "tool", "input": {"n": 7}}
    assert json.loads(done.events[0]["message"]) == asked


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"ok": False}, "failed"), ({"code": 4}, "failed"), ({"path": "nowhere"}, "protocol_violation"),
        ({"path": "core/inner.py"}, "succeeded"), ({"path": "a.txt"}, "succeeded"),
    ],
)  # fmt: skip
def test_its_events_and_its_exit_decide_how_it_ended(toolbox: Toolbox, given: dict[str, Any], status: str) -> None:
    assert run(toolbox, "tool", arguments=given).status == status


def test_a_script_sees_the_variables_that_its_skill_declares_and_no_others(
    toolbox: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRANTED", "yes")
    monkeypatch.setenv("SECRET", "x")
    sources = (
        run(toolbox, "env"),
        toolbox.run_python(RunPythonScript(skill_name="lab", script=ENVIRONMENT), CONTEXT),
    )
    for done in sources:
        assert isinstance(done, ScriptExecution)
        seen = json.loads(done.stdout)
        assert seen["GRANTED"] == "yes" and seen["PATH"].endswith(CLEAN_PATH)
        assert not {"SECRET", "NOT_SET"} & set(seen)


@pytest.mark.parametrize("name", ["LLM_API_KEY", "SKILLFLEET_REDIS_URL"])
def test_the_fleets_own_secrets_are_never_given_even_where_they_are_declared(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "x")
    monkeypatch.setenv("GRANTED", "yes")
    greedy = Skill("greedy", Path("/skills/greedy"), env=(name, "GRANTED"))
    seen = script_environment(greedy, Path("/usr/bin/python3"), CONTEXT.ref)
    assert seen["GRANTED"] == "yes" and name not in seen


def test_a_script_imports_from_its_skill(toolbox: Toolbox) -> None:
    assert run(toolbox, "imports").stdout == "inner\n"


def test_a_failure_and_a_timeout_are_results(toolbox: Toolbox) -> None:
    failed = run(toolbox, "fails")
    assert (failed.status, failed.returncode, failed.stderr) == ("failed", 3, "no")
    late = run(toolbox, "sleeps", timeout=1)
    assert (late.status, late.stdout, late.timed_out) == ("timed_out", "begun\n", True)


def test_what_is_refused_is_a_tool_error(toolbox: Toolbox) -> None:
    for name, script, code in (("lab", "nope", "script_not_found"), ("lab", "../x", "path_security"),
                               ("shut", "a", "tool_restriction"), ("none", "a", "unknown_skill")):  # fmt: skip
        refused = toolbox.run_script(RunSkillScript(skill_name=name, script=script), CONTEXT)
        assert isinstance(refused, ToolError) and refused.error == code and refused.fix


def test_a_skills_documentation_comes_with_its_scripts(toolbox: Toolbox) -> None:
    document = toolbox.get_skill(GetSkill(skill_name="lab"), CONTEXT)
    assert isinstance(document, Document)
    assert {tool.tool for tool in document.scripts} >= {"lab__tool", "lab__py_echo", "lab__fails"}
    shown = shown_to_model(document)
    assert shown.startswith(OWN) and "\n- scripts/py_echo.py (python; lab__py_echo): Echo.\n" in shown
    later = toolbox.get_skill(GetSkill(skill_name="lab", offset=document.total_bytes), CONTEXT)
    assert isinstance(later, Document) and later.scripts == ()


def test_of_many_scripts_the_model_is_shown_some_and_how_many_more_there_are(toolbox: Toolbox) -> None:
    many = tuple(
        ScriptTool(tool=f"lab__s{n}", script=f"s{n}.py", language="python") for n in range(SHOWN_SCRIPTS + 3)
    )
    document = toolbox.get_skill(GetSkill(skill_name="shut"), CONTEXT)
    assert isinstance(document, Document)
    listed = shown_to_model(document.model_copy(update={"scripts": many})).splitlines()[-SHOWN_SCRIPTS - 1 :]
    assert (listed[0], listed[-1]) == ("- s0.py (python; lab__s0)", "- and 3 more")


def test_a_skill_that_may_run_no_script_lists_none(toolbox: Toolbox) -> None:
    document = toolbox.get_skill(GetSkill(skill_name="shut"), CONTEXT)
    assert isinstance(document, Document) and document.scripts == ()
    assert "Scripts" not in shown_to_model(document)


class Recorder(ProcessRuntime):
    """Also keeps what it was asked."""

    def __init__(self, scratch: Path) -> None:
        super().__init__(scratch)
        self.asked: list[RunRequest] = []

    def run(self, request: RunRequest) -> ScriptExecution:
        self.asked.append(request)
        return super().run(request)


def test_the_limits_of_skill_and_worker_reach_the_runtime(tmp_path: Path) -> None:
    own = "memory_mb: 300\n    pids: 20\n    cpu_seconds: 9\n    network: host\n    preload: json csv"
    head = f"---\ndescription: L.\nmetadata:\n  skillfleet:\n    {own}\n    fresh_interpreter: true\n---\n"
    write_skill(tmp_path / "skills" / "l", {"SKILL.md": head, "a.py": "print(1)"})
    (tmp_path / "work").mkdir()
    runtime = Recorder(tmp_path / "work")
    environments = Environments(tmp_path / "environments")
    toolbox = Toolbox(
        SkillCatalog(tmp_path / "skills"), environments, runtime, 30, tmp_path / "artifacts", script_cpus=1.5
    )
    for done in (
        toolbox.run_script(RunSkillScript(skill_name="l", script="a"), CONTEXT),
        toolbox.run_python(RunPythonScript(skill_name="l", script="print(1)"), CONTEXT),
    ):
        assert isinstance(done, ScriptExecution) and done.success
    assert [request.script for request in runtime.asked] == [Path("a.py"), "print(1)"]
    for asked in runtime.asked:
        assert asked.limits == Limits(memory_mb=300, pids=20, cpu_seconds=9, cpus=1.5)
        assert (asked.network, asked.preload, asked.fresh_interpreter) == ("host", ("json", "csv"), True)
    runtime.close()
