"""When a skill that keeps breaking is called again, whatever happens in whatever order."""

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillfleet_workers.skills.breaker import (
    BROKE_TO_OPEN,
    FIRST_OPEN_S,
    MOST_OPEN_S,
    REMEMBERED,
    Breaker,
    Outcome,
    Recent,
)
from skillfleet_workers.skills.outcomes import NO_ENVIRONMENT, outcome_of
from skillfleet_workers.wire.contract import ToolError
from skillfleet_workers.wire.execution import ExecutionStatus, ScriptExecution

OUTCOMES: dict[ExecutionStatus, Outcome | None] = {
    "succeeded": "ok",
    "failed": "failed",
    "timed_out": "broke",
    "killed": "broke",
    "oom_killed": "broke",
    "lost": "broke",
    "protocol_violation": "broke",
    "cancelled": None,
}


@pytest.mark.parametrize("status", get_args(ExecutionStatus))
def test_what_a_run_says_of_the_skill(status: ExecutionStatus) -> None:
    assert outcome_of(ScriptExecution(status=status), own_script=True) == OUTCOMES[status]
    assert outcome_of(ScriptExecution(status=status), own_script=False) is None


@pytest.mark.parametrize("code", [*NO_ENVIRONMENT, "script_not_found", "cancelled", "unknown_skill"])
def test_what_a_refusal_says_of_the_skill(code: str) -> None:
    result = ToolError(error=code, message="", fix="")
    expected = "broke" if code in NO_ENVIRONMENT else None
    assert outcome_of(result, own_script=True) == expected
    assert outcome_of(result, own_script=False) == expected
    assert outcome_of(result, own_script=False, own_environment=False) is None


def test_it_never_stays_open_for_longer_than_ten_minutes() -> None:
    opened = replace(Breaker(), openings=8, broke=BROKE_TO_OPEN - 1).after("broke", 0.0, 0.0)
    assert opened.open_until == MOST_OPEN_S


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("wait"), st.sampled_from([0.5, 20.0, 35.0, 70.0])),
        st.tuples(st.just("call"), st.none()),
        st.tuples(
            st.just("end"), st.tuples(st.integers(0, 9), st.sampled_from([*["broke"] * 5, "ok", "failed", None]))
        ),
    ),
    max_size=120,
)


@given(STEPS)
def test_no_more_than_one_call_ever_tries_it_out(steps: list[tuple[str, object]]) -> None:
    breaker, now = Breaker(), 0.0
    for _ in range(BROKE_TO_OPEN):
        breaker = breaker.after("broke", now, now)
    running, now = [(now, False)] * 3, FIRST_OPEN_S
    for what, value in steps:
        now += 1e-6
        if what == "wait" and isinstance(value, float):
            now += value
        elif what == "call" and breaker.admits(now):
            running.append((now, breaker.open_until is not None))
            breaker = breaker.admitted(now)
        elif what == "end" and isinstance(value, tuple) and running:
            began, _ = running.pop(value[0] % len(running))
            before, breaker = breaker, breaker.after(value[1], now, began)
            assert breaker.openings >= before.openings or value[1] == "ok"
            assert not before.given_up or breaker == before
        assert sum(tries for _, tries in running) <= 1


@given(st.lists(st.tuples(st.booleans(), st.none() | st.floats(0, 1)), max_size=60))
def test_only_the_last_runs_are_remembered(runs: list[tuple[bool, float | None]]) -> None:
    recent = Recent()
    for ok, share in runs:
        recent = recent.after(ok, share)
    assert recent.runs == tuple(runs[-REMEMBERED:])
