"""What the rules of operator and submitter say of a call."""

import pytest
from tests.conversation_steps import asks, awaiting_model, call, list_skills, run_python
from tests.orchestrator.test_scripts_as_tools import EXTRACT

from skillfleet.conversations.engine import step
from skillfleet.conversations.messages import ToolCall
from skillfleet.conversations.models import Rule
from skillfleet.conversations.moves import ModelReplied
from skillfleet.conversations.runs import OfferedScript, ToolRun
from skillfleet.tools.permission import read_rules

PDF = OfferedScript(name=EXTRACT.tool, skill_name="pdf", script=EXTRACT.script)


def run_of(tool_call: ToolCall, own: str = "", operators: str = "") -> ToolRun:
    """What becomes of the call under these rules."""
    conversation = awaiting_model()
    spec = conversation.spec.model_copy(update={"rules": read_rules(own)})
    before = conversation.model_copy(update={"spec": spec, "scripts": (PDF,)})
    event = ModelReplied(asks(tool_call).message, rules=read_rules(operators))
    moved, _ = step(before, event, 0.0)
    return moved.runs[-1]


def verdict(tool_call: ToolCall, own: str = "", operators: str = "") -> str:
    run = run_of(tool_call, own, operators)
    if "denied_by_policy" in (run.shown or "") or run.status == "tool_error":
        return "deny"
    return "ask" if run.asks else "allow"


def test_rules_are_read_as_people_write_them() -> None:
    assert read_rules("ask:run_python_script, deny : execute@payments,allow:*@calculator") == (
        Rule(verdict="ask", tool="run_python_script"),
        Rule(verdict="deny", tool="execute", skill="payments"),
        Rule(verdict="allow", skill="calculator"),
    )
    assert read_rules("") == ()


@pytest.mark.parametrize("text", ["ask", "maybe:x", "ask:", "ask:a b", "ask:x@", "ask:x@y@z", "deny:a:b"])
def test_what_is_no_rule_is_refused_and_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"such as|write ask"):
        read_rules(f"allow:*,{text}")


@pytest.mark.parametrize(
    ("own", "operators", "expected"),
    [
        ("", "", "allow"),
        ("ask:run_python_script", "", "ask"),
        ("ask:run_*@calc*", "", "ask"),
        ("ask:run_python_script@pdf", "", "allow"),
        ("ask:*, allow:run_python_script", "", "allow"),
        ("allow:run_python_script, ask:*", "", "ask"),
        ("allow:*", "ask:run_python_script", "ask"),
        ("ask:*", "deny:*@calculator", "deny"),
        ("deny:*", "allow:*", "deny"),
    ],
)
def test_the_last_rule_of_a_source_decides_and_the_stricter_source_holds(
    own: str, operators: str, expected: str
) -> None:
    assert verdict(run_python(), own, operators) == expected


def test_a_skill_is_meant_in_each_of_its_versions() -> None:
    versioned = call("run_python_script", skill_name="payments@1.2", script="pay()")
    assert verdict(versioned, "deny:*@payments") == "deny"
    assert verdict(list_skills(), "deny:*@payments") == "allow"


@pytest.mark.parametrize("written", [EXTRACT.script, f"./{EXTRACT.script}", "extract"])
def test_a_script_is_meant_by_its_own_tool_however_it_is_called(written: str) -> None:
    by_path = call("run_skill_script", skill_name="pdf", script=written)
    assert verdict(by_path, f"ask:{EXTRACT.tool}") == "ask"
    assert verdict(call(EXTRACT.tool), "deny:run_skill_script@pdf") == "deny"


def test_a_denied_call_is_told_the_model_and_never_sent() -> None:
    run = run_of(run_python(), operators="deny:run_python_script")
    assert (run.status, run.sends) == ("tool_error", 0)
