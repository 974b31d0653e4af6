"""What a skill that governs allows."""

import json
from typing import Any

import pytest
from tests.conversation_steps import after, asks, awaiting_model, call, last_effects, queued
from tests.skill_snapshots import activated, under

from skillfleet.conversations.messages import FunctionCall
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import CallModel, RunTool
from skillfleet.tools.dispatch import Dispatch, Meaning, dispatch
from skillfleet.tools.policy import INTERPRETERS, LANGUAGES
from skillfleet.tools.scripts import with_scripts
from skillfleet_workers.skills.languages import INTERPRETERS as RUN_WITH
from skillfleet_workers.skills.languages import TYPE_BY_EXTENSION
from skillfleet_workers.wire.contract import TASKS, ScriptTool, ToolError

EXTRACT = ScriptTool(tool="pdf__extract", script="scripts/extract.py", language="python")
CONVERT = ScriptTool(tool="pdf__convert", script="convert", language="shell")
SPEC_TOOLS = (ScriptTool(tool="search", script="", language=""), ScriptTool(tool="execute", script="", language=""))

CALLS: dict[str, dict[str, Any]] = {
    "run_python_script": {"skill_name": "pdf", "script": "1"},
    "run_skill_script": {"skill_name": "pdf", "script": "scripts/extract.py"},
    "pdf__extract": {},
    "search": {"skill_name": "pdf", "code": "1"},
    "execute": {"skill_name": "pdf", "code": "1"},
    "read_file_in_skill": {"skill_name": "pdf", "file_path": "references/a.md"},
    "list_skills": {},
    "get_skill": {"skill_name": "other"},
    "skill": {"name": "other"},
}
RUNS = {"run_python_script", "run_skill_script", "pdf__extract", "search", "execute"}
ALWAYS = {"list_skills", "get_skill", "skill"}


def governed(*allowed: str) -> Conversation:
    return under("pdf", EXTRACT, CONVERT, *SPEC_TOOLS, allowed_tools=allowed)


def answer(conversation: Conversation, tool: str, **given: Any) -> Meaning:
    return dispatch(FunctionCall(name=tool, arguments=json.dumps(given)), conversation)


def passes(conversation: Conversation, tool: str, **given: Any) -> bool:
    found = answer(conversation, tool, **given)
    assert isinstance(found, Dispatch) or (isinstance(found, ToolError) and found.error == "tool_not_allowed"), found
    return isinstance(found, Dispatch)


def runs(pattern: str, script: str, *args: str) -> bool:
    return passes(governed(f"Bash({pattern})"), "run_skill_script", skill_name="pdf", script=script, args=args)


@pytest.mark.parametrize(
    ("allowed", "passing"),
    [
        ((), set()),
        (("Bash",), RUNS),
        (("Read",), {"read_file_in_skill"}),
        (("Grep",), {"read_file_in_skill"}),
        (("Glob", "WebFetch"), {"read_file_in_skill"}),
        (("run_python_script",), {"run_python_script"}),
        (("run_skill_script",), {"run_skill_script", "pdf__extract"}),
        (("pdf__extract",), {"pdf__extract"}),
        (("Bash(python:*)",), RUNS),
        (("Bash(python)",), {"run_python_script", "search", "execute"}),
        (("Bash(python3:*)", "Read(references/*)"), {*RUNS, "read_file_in_skill"}),
        (("Read(assets/*)",), set()),
        (("bash", "Bash(", "Bash)", "Bash()", ""), set()),
    ],
)
def test_what_is_allowed_passes_and_nothing_else(allowed: tuple[str, ...], passing: set[str]) -> None:
    conversation = governed(*allowed)
    found = {tool for tool, given in CALLS.items() if passes(conversation, tool, **given)}
    assert found == passing | ALWAYS


def test_every_tool_is_in_the_table() -> None:
    assert {spec.tool for spec in TASKS} < set(CALLS)


@pytest.mark.parametrize(
    ("pattern", "script", "args", "passing"),
    [
        ("python scripts/extract.py:*", "scripts/extract.py", ("a.pdf",), True),
        ("python3 scripts/extract.py:*", "scripts/extract.py", (), True),
        ("scripts/extract.py:*", "scripts/extract.py", ("--pages", "3"), True),
        ("scripts/extract.py:*", "extract", ("--pages", "3"), True),
        ("scripts/extract.py", "scripts/extract.py", (), True),
        ("scripts/extract.py", "scripts/extract.py", ("more",), False),
        ("scripts/extract.py --pages *", "scripts/extract.py", ("--pages", "3"), True),
        ("scripts/extract.py --pages *", "scripts/extract.py", ("--all",), False),
        ("scripts/*.py", "scripts/extract.py", (), True),
        ("scripts/*.py", "scripts/../evil.py", (), False),
        ("scripts/extract:*", "scripts/extract.py", (), False),
        ("git:*", "scripts/extract.py", (), False),
        ("git:*", "git", ("status",), True),
        ("git:*", "gitx", (), False),
        ("bash convert:*", "convert", (), True),
        ("node tools/a.js:*", "tools/a.js", (), True),
        ("ruby tools/a.rb:*", "tools/a.rb", (), True),
        ("scripts/extract.py --safe", "scripts/extract.py --safe", (), False),
        ("scripts/extract.py * --dry-run", "scripts/extract.py", ("all", "--really --dry-run"), False),
    ],
)
def test_a_pattern_fits_the_command_line_of_the_script(
    pattern: str, script: str, args: tuple[str, ...], passing: bool
) -> None:
    assert runs(pattern, script, *args) == passing


def test_a_scripts_own_tool_is_the_command_line_that_it_stands_for() -> None:
    conversation = governed("Bash(python scripts/extract.py --pages:*)")
    assert passes(conversation, "pdf__extract", args=["--pages", "3"])
    assert not passes(conversation, "pdf__extract", args=["--all"])


def test_of_two_scripts_that_a_name_may_mean_neither_is_taken_for_the_allowed_one() -> None:
    other = ScriptTool(tool="pdf__other", script="other/extract.sh", language="shell")
    conversation = with_scripts(governed("Bash(scripts/extract.py:*)"), "pdf", [other])
    assert not passes(conversation, "run_skill_script", skill_name="pdf", script="extract")
    assert passes(conversation, "run_skill_script", skill_name="pdf", script="scripts/extract.py")


@pytest.mark.parametrize("skill", ["other", "pdf@9.0.0", "PDF"])
@pytest.mark.parametrize("script", ["extract", "scripts/extract.py", "git"])
def test_the_script_of_another_skill_is_not_taken_for_one_of_the_same_name(skill: str, script: str) -> None:
    conversation = governed("Bash(scripts/*)", "Bash(scripts/extract.py:*)", "Bash(git:*)")
    assert not passes(conversation, "run_skill_script", skill_name=skill, script=script)


def test_a_file_of_another_skill_is_not_taken_for_one_of_the_same_path() -> None:
    conversation = governed("Read(references/*)")
    assert passes(conversation, "read_file_in_skill", skill_name="pdf@1.0.0", file_path="references/a.md")
    assert not passes(conversation, "read_file_in_skill", skill_name="other", file_path="references/a.md")


def test_the_files_of_another_skill_lie_in_a_folder_beside_the_one_that_governs() -> None:
    conversation = governed("Bash(python ../other/scripts/extract.py:*)", "Read(../other/*)")
    assert passes(conversation, "run_skill_script", skill_name="other", script="scripts/extract.py", args=["a.pdf"])
    assert passes(conversation, "read_file_in_skill", skill_name="other", file_path="references/a.md")
    assert not passes(conversation, "run_skill_script", skill_name="third", script="scripts/extract.py")


def test_a_refusal_says_who_forbids_what_and_what_is_allowed() -> None:
    found = answer(governed("Bash(git:*)", "Read"), "pdf__extract", args=["a.pdf"])
    assert isinstance(found, ToolError)
    assert found.message == (
        "The skill pdf governs now and does not allow pdf__extract (scripts/extract.py a.pdf); "
        "it allows: Bash(git:*), Read."
    )
    assert "skill" in found.fix
    nothing = answer(governed(), "run_python_script", skill_name="pdf", script="1")
    assert isinstance(nothing, ToolError) and "it allows: no tools." in nothing.message


def test_a_refused_call_reaches_no_worker_and_the_model_is_asked_again() -> None:
    wrong = asks(call("run_python_script", "x", skill_name="pdf", script="1"))
    assert last_effects(governed("Read"), wrong) == [CallModel()]
    refused = after(governed("Read"), wrong)
    assert json.loads(refused.messages[-1].content or "")["error"] == "tool_not_allowed"
    assert (refused.runs[-1].status, refused.runs[-1].sends) == ("tool_error", 0)


@pytest.mark.parametrize(
    "conversation", [queued(), under("pdf", EXTRACT)], ids=["no skill", "a skill without a list"]
)
def test_where_no_skill_forbids_anything_all_may_be_called(conversation: Conversation) -> None:
    assert passes(conversation, "run_python_script", skill_name="pdf", script="1")


def test_another_skill_is_activated_out_of_a_narrow_one_and_its_own_rules_hold() -> None:
    narrow = governed("Read")
    wider = after(narrow, asks(call("skill", "s", name="lab")), activated("2.0", "lab", allowed_tools=("Bash",)))
    run = asks(call("run_python_script", "x", skill_name="pdf", script="1"))
    assert [type(effect) for effect in last_effects(wider, run)] == [RunTool]
    assert not passes(wider, "read_file_in_skill", skill_name="pdf", file_path="a.md")


def test_the_calls_that_stand_beside_an_activation_are_not_under_it_yet() -> None:
    both = asks(call("skill", "s", name="pdf"), call("run_python_script", "x", skill_name="pdf", script="1"))
    assert [type(effect) for effect in last_effects(awaiting_model(), both)] == [RunTool, RunTool]


def test_scripts_are_known_by_the_names_that_workers_run_them_with() -> None:
    assert TYPE_BY_EXTENSION == LANGUAGES
    assert all(command in INTERPRETERS[kind] for kind, command in RUN_WITH.items())
    assert INTERPRETERS.keys() == RUN_WITH.keys()
