"""When each tool of a plan ran, made of its conversation's events."""

import pytest
from tests.orchestrator.plans.charts import chart, entry

from skillfleet.events import EntryType
from skillfleet.plans.gantt import Bar, Chart, seconds, ticks
from skillfleet.plans.models import ExecutionState as State


def bars(found: Chart) -> dict[str, tuple[Bar, ...]]:
    return {row.tool_id: row.bars for row in found.rows}


def test_a_tool_has_a_bar_for_each_of_its_runs() -> None:
    found = chart(
        {"a": State.COMPLETED},
        entry("call", 0, 0.0), entry("started", 0, 1.0), entry("failed", 0, 2.0),
        entry("call", 0, 3.0), entry("started", 0, 4.0), entry("result", 0, 5.0),
    )  # fmt: skip
    assert bars(found) == {"a": (Bar(1.0, 2.0, "failed"), Bar(4.0, 5.0, "completed"))}
    assert found.length_s == 10.0


def test_a_run_that_took_too_long_is_told_apart_where_the_tool_is_run_again() -> None:
    found = chart(
        {"a": State.COMPLETED},
        entry("started", 0, 1.0), entry("failed", 0, 2.0, status="timed_out"),
        entry("started", 0, 4.0), entry("result", 0, 5.0),
    )  # fmt: skip
    assert bars(found) == {"a": (Bar(1.0, 2.0, "timeout"), Bar(4.0, 5.0, "completed"))}


@pytest.mark.parametrize("kind", ["lost", "returned"])
def test_a_run_that_its_worker_gave_up_has_failed(kind: EntryType) -> None:
    found = chart({"a": State.RUNNING}, entry("started", 0, 1.0), entry(kind, 0, 2.0))
    assert bars(found) == {"a": (Bar(1.0, 2.0, "failed"),)}


def test_a_run_of_a_worker_that_went_silent_ends_where_the_next_begins() -> None:
    found = chart({"a": State.COMPLETED}, entry("started", 0, 1.0), entry("started", 0, 4.0), entry("result", 0, 5.0))
    assert bars(found) == {"a": (Bar(1.0, 4.0, "failed"), Bar(4.0, 5.0, "completed"))}


def test_what_runs_has_a_bar_up_to_now() -> None:
    assert bars(chart({"a": State.RUNNING}, entry("started", 0, 3.0))) == {"a": (Bar(3.0, 10.0, "running"),)}


def test_tools_come_by_when_they_began_and_those_that_did_not_come_last() -> None:
    found = chart(
        {"never": State.SKIPPED, "late": State.COMPLETED, "early": State.COMPLETED, "waits": State.PENDING},
        entry("started", 1, 5.0), entry("result", 1, 6.0), entry("started", 2, 1.0), entry("result", 2, 2.0),
        entry("result", 0, 7.0),
    )  # fmt: skip
    assert [row.tool_id for row in found.rows] == ["early", "late", "never", "waits"]
    assert found.rows[2].bars == found.rows[3].bars == ()


def test_events_of_other_turns_are_no_runs_of_tools() -> None:
    other = entry("started", 0, 1.0)
    other.data["key"] = "2.0"
    assert bars(chart({"a": State.PENDING}, other, entry("message", 7, 1.0))) == {"a": ()}


def test_clocks_that_differ_make_no_bar_before_the_plan_nor_one_that_ends_before_it_begins() -> None:
    early = chart({"a": State.COMPLETED}, entry("started", 0, -3.0), entry("result", 0, -4.0), ended=0.0)
    assert bars(early) == {"a": (Bar(0.0, 0.0, "completed"),)}
    assert early.length_s > 0
    backwards = chart({"a": State.COMPLETED}, entry("started", 0, 3.0), entry("result", 0, 2.0))
    assert bars(backwards) == {"a": (Bar(3.0, 3.0, "completed"),)}


def test_the_chart_reaches_to_the_last_bar() -> None:
    assert chart({"a": State.COMPLETED}, entry("started", 0, 1.0), entry("result", 0, 15.0)).length_s == 15.0


@pytest.mark.parametrize(
    ("length_s", "most", "told"),
    [
        (0.001, 9, ["0", "1 ms"]),
        (2.87, 9, ["0", "500 ms", "1 s", "1.5 s", "2 s", "2.5 s"]),
        (59, 7, ["0", "10 s", "20 s", "30 s", "40 s", "50 s"]),
        (200, 5, ["0", "1 min", "2 min", "3 min"]),
        (5400, 4, ["0", "30 min", "1 h", "1 h 30 min"]),
        (7 * 86_400, 4, ["0", "48 h", "96 h", "144 h"]),
    ],
)
def test_ticks_are_round_in_the_units_in_which_they_are_told(length_s: float, most: int, told: list[str]) -> None:
    assert [seconds(moment) for moment in ticks(length_s, most)] == told


@pytest.mark.parametrize("length_s", [0.001, 0.02, 1.0, 9.999, 61.0, 3599.0, 100_000.0])
@pytest.mark.parametrize("most", [2, 3, 9])
def test_there_are_never_more_ticks_than_there_is_room_for(length_s: float, most: int) -> None:
    assert 1 <= len(ticks(length_s, most)) <= most
