"""What becomes of a model's tool call."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conversation_steps import queued

from skillfleet.conversations.messages import FunctionCall
from skillfleet.conversations.models import Conversation
from skillfleet.tools.dispatch import ActiveAgain, Dispatch, Meaning, OwnCall, dispatch
from skillfleet.tools.scripts import with_scripts
from skillfleet_workers.wire.contract import RUN_PYTHON, RUN_SCRIPT, TASKS, ScriptTool, ToolError

EXTRACT = ScriptTool(tool="pdf__extract", script="scripts/extract.py", language="python")
READER = with_scripts(queued(), "pdf", [EXTRACT])


def only(*tools: str) -> Conversation:
    """A conversation with no other tools."""
    few = tuple(tool for tool in READER.spec.tools if tool.function.name in tools)
    return READER.model_copy(update={"spec": READER.spec.model_copy(update={"tools": few}), "scripts": ()})


def dispatched(name: str, arguments: str, conversation: Conversation = READER) -> Meaning:
    return dispatch(FunctionCall(name=name, arguments=arguments), conversation)


def refusal(name: str, arguments: str, conversation: Conversation = READER) -> ToolError:
    answer = dispatched(name, arguments, conversation)
    assert isinstance(answer, ToolError), answer
    return answer


def test_a_good_call_becomes_its_task_with_what_the_model_gave() -> None:
    given_by_model = {"skill_name": "calculator", "script": "print(1)"}
    assert dispatched("run_python_script", json.dumps(given_by_model)) == Dispatch(RUN_PYTHON, given_by_model)


@pytest.mark.parametrize("arguments", ["", "{}", " {} "])
def test_a_tool_without_parameters_needs_no_arguments(arguments: str) -> None:
    assert isinstance(dispatched("list_skills", arguments), Dispatch)


def test_null_stands_for_an_optional_argument_that_is_left_out() -> None:
    answer = dispatched("run_python_script", '{"skill_name": "a", "script": "1", "timeout": null}')
    assert isinstance(answer, Dispatch)
    assert answer.request == {"skill_name": "a", "script": "1"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ('{"skill_name": ', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"skill_name": ' + "[" * 150 + "]" * 150 + "}", "nested too deep"),
        ('{"skill_name": "\\ud800"}', "not JSON"),
        ("[]", "not a JSON object"),
        ("null", "not a JSON object"),
        ('"calculator"', "not a JSON object"),
        ("{}", "skill_name: Field required"),
        ('{"skill_name": 3}', "skill_name: "),
        ('{"skill_name": "a", "offset": -1}', "offset: "),
        ('{"skill_name": "a", "offset": NaN}', "not JSON: NaN"),
        ('{"skill_name": "a", "offset": -Infinity}', "not JSON: -Infinity"),
        ('{"skill_name": "a", "offset": 1e999}', "not JSON: 1e999"),
        ('{"skill_name": "a", "offfset": 1}', "no parameter 'offfset'"),
    ],
)
def test_arguments_that_do_not_fit_are_explained(arguments: str, told: str) -> None:
    error = refusal("get_skill", arguments)
    assert error.error == "malformed_arguments"
    assert told in error.message and "get_skill" in error.message
    assert error.fix


def test_a_refusal_does_not_repeat_what_may_be_long_or_secret() -> None:
    assert len(refusal("get_skill", json.dumps({"skill_name": ["x" * 10_000]})).message) < 300


def test_an_unknown_tool_is_told_what_there_is() -> None:
    error = refusal("rm_rf", "{}", only("list_skills", "get_skill"))
    assert error.error == "unknown_tool"
    assert error.fix == "Call one of: get_skill, list_skills."


def test_a_tool_that_was_not_offered_is_unknown() -> None:
    assert refusal("run_python_script", "{}", only("list_skills")).error == "unknown_tool"


def test_a_scripts_own_tool_runs_that_script_with_the_arguments_of_the_model() -> None:
    answer = dispatched("pdf__extract", '{"args": ["--pages", "3"], "arguments": {"deep": [1]}, "timeout": 5}')
    asked = {"args": ["--pages", "3"], "arguments": {"deep": [1]}, "timeout": 5}
    assert answer == Dispatch(RUN_SCRIPT, {"skill_name": "pdf", "script": "scripts/extract.py", **asked})
    assert isinstance(dispatched("pdf__extract", ""), Dispatch)


@pytest.mark.parametrize("given", ["skill_name", "script"])
def test_a_scripts_own_tool_cannot_be_turned_on_another_script(given: str) -> None:
    error = refusal("pdf__extract", json.dumps({given: "other"}))
    assert (error.error, f"no parameter '{given}'" in error.message) == ("malformed_arguments", True)


def test_arguments_that_do_not_fit_a_scripts_own_tool_are_explained() -> None:
    assert "args" in refusal("pdf__extract", '{"args": "--pages 3"}').message


def test_a_script_is_no_tool_before_its_skill_was_read() -> None:
    assert refusal("pdf__extract", "{}", queued()).error == "unknown_tool"
    assert "pdf__extract" in refusal("rm_rf", "{}").fix


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from([*(spec.tool for spec in TASKS), EXTRACT.tool]),
    st.text() | st.from_regex(r"\{.*\}") | st.binary().map(repr),
)
def test_whatever_a_model_writes_is_a_task_or_an_error_that_can_be_stored(tool: str, arguments: str) -> None:
    answer = dispatched(tool, arguments)
    assert not isinstance(answer, ActiveAgain | OwnCall)
    text = (
        json.dumps(answer.request, ensure_ascii=False) if isinstance(answer, Dispatch) else answer.model_dump_json()
    )
    assert text.encode()
