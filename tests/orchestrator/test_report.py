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
        "limits", "waiting_for",
    }  # fmt: skip
