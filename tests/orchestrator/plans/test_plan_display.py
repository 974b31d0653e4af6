"""Plans as a terminal shows them: wide or narrow, with colours or without."""

import re
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console
from tests.orchestrator.plans.charts import States, chart, entry, result_of

from skillfleet.cli.plan_display import STYLES, axis, bar_text, error_lines, gantt_table, result_line
from skillfleet.conversations.models import Status
from skillfleet.events import Entry
from skillfleet.plans.gantt import Bar, Row
from skillfleet.plans.models import ErrorType, FailureReason, ToolFailure, ToolResult
from skillfleet.plans.models import ExecutionState as State

STATES: States = {"a": State.COMPLETED, "b": State.SKIPPED}
RETRIED = (entry("started", 0, 0.0), entry("failed", 0, 2.0), entry("started", 0, 6.0), entry("result", 0, 10.0))


def lines(states: States, *entries: Entry, width: int = 80) -> list[str]:
    console = Console(width=width, no_color=True, soft_wrap=True)
    with console.capture() as captured:
        console.print(gantt_table(result_of(states), chart(states, *entries), width))
    return [line.rstrip() for line in captured.get().splitlines()]


def test_runs_and_the_waiting_between_them_can_be_told_apart_without_colours() -> None:
    bar = bar_text(Row("a", "completed", (Bar(0, 2, "failed"), Bar(6, 10, "completed"))), 10.0, 10)
    assert bar.plain == "××····████"
    assert [str(span.style) for span in bar.spans if span.style != "dim"][::4] == ["red", "green"]


@pytest.mark.parametrize("state", list(State))
def test_every_state_has_a_colour_and_a_bar(state: State) -> None:
    assert STYLES[state]
    assert bar_text(Row("a", state, (Bar(0, 1, state),)), 1.0, 5).plain.strip()


@pytest.mark.parametrize(("moment", "place"), [(0, 0), (2.5, 3), (10, 11)])
def test_a_run_that_took_no_time_has_a_cell(moment: float, place: int) -> None:
    bar = bar_text(Row("a", "failed", (Bar(moment, moment, "failed"),)), 10.0, 12)
    assert bar.plain == " " * place + "×"


def test_the_table_tells_each_tool_under_an_axis() -> None:
    header, first, second = lines(STATES, *RETRIED)
    assert header.split() == ["tool", "state", "ms", "retries", "0", "5", "s"]
    assert first.split()[:3] == ["a", "completed", "5"] and re.search("×+·+█+$", first)
    assert second.split() == ["b", "skipped"]


@pytest.mark.parametrize("width", [44, 54, 80, 200])
def test_no_line_is_longer_than_the_terminal_and_states_are_always_told(width: int) -> None:
    names: States = {"x" * 100: State.COMPLETED, "y" * 100: State.SKIPPED}
    found = lines(names, *RETRIED, width=width)
    assert all(cell_len(line) <= width for line in found)
    assert [any(state in line for line in found) for state in ("completed", "skipped")] == [True, True]


def test_a_narrow_terminal_gets_no_chart_and_a_wide_one_gets_one() -> None:
    narrow, wide = lines(STATES, *RETRIED, width=44), lines(STATES, *RETRIED, width=60)
    assert [any("█" in line for line in found) for found in (narrow, wide)] == [False, True]
    assert [found[0].split()[4:] for found in (narrow, wide)] == [[], ["0", "5", "s"]]


def test_without_a_chart_there_is_room_for_names() -> None:
    name = "x" * 18
    assert any(line.startswith(f"{name} ") for line in lines({name: State.COMPLETED}, *RETRIED, width=51))


def test_what_others_have_named_is_neither_markup_nor_a_terminal_s_command() -> None:
    (_, line) = lines({"[red]\x1b[31mx": State.PENDING})
    assert line.startswith("[red]␛[31mx")


def test_the_axis_has_round_moments_where_they_begin() -> None:
    line = axis(10.0, 60)
    assert [(line.index(said), said) for said in ("0", "2 s", "8 s")] == [(0, "0"), (12, "2 s"), (48, "8 s")]
    assert "1 h 30 min " in axis(10_700.0, 60)  # and not "1 h 30 min2 h"
    assert all(len(axis(length, room)) <= room for length in (0.001, 3.3, 70.0, 9e5) for room in range(12, 61))


@pytest.mark.parametrize(
    ("states", "more", "status", "begin"),
    [
        ({"a": State.COMPLETED}, {}, "completed", "succeeded: 1 of 1 tools completed"),
        ({"a": State.RUNNING}, {}, "running", "running: 0 of 1 tools completed"),
        ({"a": State.PENDING}, {}, "waiting", "waiting: 0 of 1 tools completed"),
        ({"a": State.FAILED}, {}, "cancelled", "cancelled: 0 of 1 tools completed"),
        (
            {"a": State.FAILED},
            {"failure_reason": FailureReason.TOOL_FAILURE},
            "failed",
            "failed (tool failure): 0 of 1",
        ),
    ],
)
def test_one_line_tells_what_it_has_come_to(states: States, more: dict[str, Any], status: Status, begin: str) -> None:
    assert result_line(result_of(states, **more), status).startswith(begin)


def test_errors_are_told_but_for_those_of_tools_that_were_skipped() -> None:
    trace = [
        ToolResult(
            tool_id=name, ok=False, state=state, execution_time_ms=0, retry_count=0,
            error=ToolFailure(type=ErrorType.TOOL_EXECUTION_FAILED, message="bad\x1b[2J"),
        )
        for name, state in (("a", State.FAILED), ("b", State.SKIPPED))
    ]  # fmt: skip
    assert error_lines(trace) == ["a: ToolExecutionFailed: bad␛[2J"]
