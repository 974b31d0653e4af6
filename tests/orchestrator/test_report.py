"""The object that scripts read."""

from tests.conversation_steps import (
    NOW,
    after,
    asks,
    awaiting_calls,
    awaiting_model,
    finished,
    list_skills,
    run_python,
    says,
)

from skillfleet.conversations.report import report
from skillfleet.subagents.models import ChildRun


def test_a_report_of_an_ended_conversation_says_what_it_came_to() -> None:
    ended = after(awaiting_calls(run_python()), finished("1.0"), says("42"), now=NOW + 2)
    told = report(ended, NOW + 1000)
    assert (told.status, told.answer, told.turns, told.elapsed_ms) == (
        "completed",
        "42",
        2,
        2000,
    )
    (call,) = told.tool_calls
    assert (call.name, call.skill, call.status, call.worker, call.runtime) == (
        "run_python_script", "calculator", "succeeded", "w1", "process",
    )  # fmt: skip


def test_a_report_of_an_open_conversation_counts_to_now() -> None:
    told = report(after(awaiting_model(), asks(list_skills())), NOW + 3)
    assert (told.status, told.elapsed_ms, told.tool_calls[0].status, told.tool_calls[0].skill) == (
        "running", 3000, None, None,
    )  # fmt: skip


def test_a_report_is_plain_json() -> None:
    as_json = report(awaiting_calls(list_skills()), NOW).as_json()
    assert set(as_json) == {
        "id", "parent_id", "status", "answer", "error", "turns", "tool_calls", "usage", "elapsed_ms",
        "dropped_results", "tenant", "priority", "snapshot", "skills", "artifacts", "data", "divergences",
        "limits", "waiting_for", "subagents",
    }  # fmt: skip


def test_a_report_tells_of_subagents_whether_they_have_ended_and_what_they_came_to() -> None:
    ended = ChildRun(key="1.0", id="c1-1-0", name="scout", status="completed", shown="Found\n42. " * 100)
    children = (ended, ChildRun(key="1.1", id="c1-1-1"), ChildRun(key="1.2", id="c1-1-2", unwanted=True))
    told = report(awaiting_model().model_copy(update={"children": children}), NOW).subagents
    assert [one.status for one in told] == ["completed", None, "cancelled"]
    assert (told[0].agent_id, told[0].call, told[0].name) == ("c1-1-0", "1.0", "scout")
    assert told[0].result.startswith("Found 42. Found") and len(told[0].result) == 200
