"""The replan loop of seed 003: every edge of its diagram."""

import json
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillfleet.plans.models import MAX_ATTEMPTS, ExecutionResult, ExecutionState, FailureReason
from skillfleet.plans.replan import Answer, Tried, WritePlan, attempts_made, fallback, next_move
from skillfleet.plans.showing import LEFT_OUT, MOST_CHARS, shown_result

MISFIT = Tried(misfit="it does not fit")


def result(number: int = 1, *skills: str, replan: bool = True, ok: bool = False) -> Tried:
    trace = [
        {"toolId": skill, "toolPath": f"{skill}/scripts/x.py", "ok": False, "state": "failed", "executionTimeMs": 1,
         "retryCount": 0}
        for skill in skills
    ]  # fmt: skip
    told = {
        "planId": str(UUID(int=number)),
        "success": ok,
        "failedTools": list(skills),
        "canReplan": replan,
        "failureReason": None if ok else "tool_failure",
        "executionTrace": trace,
    }
    return Tried(result=ExecutionResult.model_validate(told))


def written(*tried: Tried) -> WritePlan:
    move = next_move(tried)
    assert isinstance(move, WritePlan)
    return move


def test_pending_to_executing_the_first_plan_is_written() -> None:
    assert written() == WritePlan(1)


def test_executing_to_success_its_result_is_the_answer() -> None:
    good = result(ok=True)
    assert next_move([result(1, "x"), good]) == Answer(good.result)


def test_executing_to_failed_to_pending_without_the_skills_that_failed_and_linked() -> None:
    move = written(result(1, "x", "y"), result(2, "z"))
    assert (move.attempt, move.disabled, move.parent_plan_id) == (3, ("x", "y", "z"), UUID(int=2))
    assert move.metadata.as_json() == {"generationAttempt": 3, "parentPlanId": str(UUID(int=2))}


def test_failed_to_the_end_where_another_plan_could_do_no_better() -> None:
    last = result(1, "x", replan=False)
    assert next_move([last]) == Answer(last.result)


def test_failed_to_exhausted_after_the_last_attempt() -> None:
    tried = [result(number, "x") for number in range(MAX_ATTEMPTS)]
    assert isinstance(next_move(tried[:-1]), WritePlan)
    assert next_move(tried) == Answer(None)


def test_a_plan_that_does_not_fit_is_corrected_once_within_its_attempt() -> None:
    assert written(MISFIT) == WritePlan(1, correction=True)
    assert written(MISFIT, result(7, "x")) == WritePlan(2, ("x",), UUID(int=7))


def test_planning_that_fails_counts_as_an_attempt_and_keeps_what_is_disabled() -> None:
    move = written(result(1, "x"), MISFIT, MISFIT)
    assert (move.attempt, move.disabled, move.parent_plan_id, move.correction) == (3, ("x",), UUID(int=1), False)
    assert next_move([MISFIT, MISFIT] * MAX_ATTEMPTS) == Answer(None)


def test_an_execution_of_which_nothing_is_known_counts_as_an_attempt() -> None:
    assert written(Tried()) == WritePlan(2)


@pytest.mark.parametrize(
    ("tried", "made"),
    [((), 0), ((MISFIT,), 1), ((MISFIT, MISFIT), 1), ((MISFIT, result()), 1), ((MISFIT, MISFIT, result()), 2),
     ((MISFIT, MISFIT) * MAX_ATTEMPTS, MAX_ATTEMPTS)],
)  # fmt: skip
def test_a_misfit_and_its_correction_are_one_attempt(tried: tuple[Tried, ...], made: int) -> None:
    assert attempts_made(tried) == made


@given(st.lists(st.sampled_from(["fits not", "failed", "no more", "good"]), max_size=14))
def test_however_it_goes_there_are_at_most_five_attempts(story: list[str]) -> None:
    tried: list[Tried] = []
    for what in story:
        if isinstance(next_move(tried), Answer):
            break
        tried.append(
            {"fits not": MISFIT, "failed": result(1, "x"), "no more": result(1, "x", replan=False),
             "good": result(1, ok=True)}[what]
        )  # fmt: skip
    move = next_move(tried)
    if isinstance(move, WritePlan):
        assert 1 <= move.attempt <= MAX_ATTEMPTS
    executed = [one for one in tried if one.result]
    assert len(executed) <= MAX_ATTEMPTS and len(tried) <= 2 * MAX_ATTEMPTS


def test_the_fallback_result_tells_what_came_last() -> None:
    last = result(3, "x")
    told = fallback("Count to two", [result(1, "y"), last, MISFIT, MISFIT], UUID(int=9))
    assert (told.plan_id, told.success, told.can_replan) == (UUID(int=3), False, False)
    assert told.failed_tools == ("x",) and told.failure_reason is FailureReason.TOOL_FAILURE
    assert "Count to two" in (told.narrative or "")
    never = fallback("Count", [MISFIT], UUID(int=9))
    assert never.plan_id == UUID(int=9) and "it does not fit" in (never.narrative or "")


def big(tools: int, chars: int, failed: int = 0) -> ExecutionResult:
    def one(number: int) -> dict[str, Any]:
        bad = number < failed
        error = {"type": "ToolExecutionFailed", "message": "x" * chars, "exitCode": 1} if bad else None
        return {
            "toolId": f"tool-{number}", "toolPath": "s/x.py", "ok": not bad,
            "state": "failed" if bad else "completed",
            "output": None if bad else {"text": "é" * chars}, "events": [{"type": "log", "message": "y" * chars}],
            "executionTimeMs": 1, "retryCount": 0, "error": error,
        }  # fmt: skip

    trace = [one(number) for number in range(tools)]
    told = {
        "planId": str(UUID(int=1)), "success": not failed, "failedTools": [f"tool-{n}" for n in range(failed)],
        "executionTrace": trace, "finalState": {"text": "z" * chars}, "narrative": "n" * chars,
    }  # fmt: skip
    return ExecutionResult.model_validate(told)


@pytest.mark.parametrize("tools", [1, 40, 1000])
@pytest.mark.parametrize("chars", [1, 900, 20_000])
@pytest.mark.parametrize("failed", [0, 1, 1000])
def test_the_shown_result_is_short_and_reads_as_a_result(tools: int, chars: int, failed: int) -> None:
    whole = big(tools, chars, min(failed, tools))
    text = shown_result(whole)
    assert len(text) <= MOST_CHARS
    read = ExecutionResult.model_validate(json.loads(text))
    assert (read.success, read.plan_id) == (whole.success, whole.plan_id)
    assert not [one for one in read.execution_trace if one.events]
    if failed:
        assert read.execution_trace and read.execution_trace[0].state is ExecutionState.FAILED


def test_what_is_left_out_of_a_shown_result_is_told() -> None:
    text = shown_result(big(1000, 900, 1000))
    assert LEFT_OUT in text
    assert LEFT_OUT not in shown_result(big(2, 10))
