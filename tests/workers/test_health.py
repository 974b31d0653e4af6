"""How a skill is, learned from what becomes of its calls; and when it is not called any more."""

import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from skillfleet_workers.skills.breaker import (
    BROKE_TO_OPEN,
    PROBE_S,
    Outcome,
)
from skillfleet_workers.skills.health import HealthBoard
from skillfleet_workers.skills.models import Skill
from skillfleet_workers.skills.outcomes import NO_ENVIRONMENT
from skillfleet_workers.skills.problems import Problem
from skillfleet_workers.wire.contract import ToolError
from skillfleet_workers.wire.execution import ExecutionStatus, ScriptExecution

A = "a"


def told(
    board: HealthBoard, *outcomes: Outcome | None, now: float = 0.0, ms: float = 0.0, timeout_s: float = 0.0
) -> None:
    for outcome in outcomes:
        board.record(A, outcome, "timed out after 30 s", ms, now, timeout_s=timeout_s)


def broken(now: float = 0.0, board: HealthBoard | None = None) -> HealthBoard:
    board = board or HealthBoard()
    for _ in range(BROKE_TO_OPEN):
        told(board, "broke", now=now)
    return board


def run(status: ExecutionStatus, ms: float = 0.0, timeout: float = 30) -> ScriptExecution:
    return ScriptExecution(status=status, timeout=timeout, signal="SIGSEGV", error="a secret", execution_time_ms=ms)


def refused(code: str) -> ToolError:
    return ToolError(error=code, message="a secret", fix="")


def test_a_skill_that_nothing_is_known_of_is_healthy() -> None:
    board = HealthBoard()
    assert board.refusal(A, 0.0) is None and board.states() == {}


def test_five_that_break_in_a_row_open_it_for_half_a_minute() -> None:
    board = HealthBoard()
    told(board, "broke", "broke", "broke", "broke", "failed", "broke", "broke", "broke", "broke", "ok", "broke", None)
    assert board.refusal(A, 0.0) is None
    told(board, "broke", "broke", "broke", "broke")
    assert board.states() == {A: "temporaryFailure"}
    error = board.refusal(A, 10.5)
    assert error is not None and error.error == "skill_unavailable"
    assert "(temporaryFailure)" in error.message and "timed out after 30 s" in error.message
    assert "try again in 20 s" in error.fix
    assert board.refusal("other", 10.5) is None
    assert board.refusal(A, 30.0) is None


def test_one_call_tries_it_out_while_others_are_refused() -> None:
    board = broken()
    assert board.refusal(A, 40.0) is None
    error = board.refusal(A, 40.0)
    assert error is not None and "another call is trying it now" in error.fix
    board.record(A, "ok", "", 5.0, 41.0, began=40.0)
    assert board.refusal(A, 41.0) is None and board.refusal(A, 41.0) is None
    assert board.states() == {}


def test_who_tries_it_out_and_learns_nothing_lets_the_next_one_try() -> None:
    board = broken()
    for now in (40.0, 41.0, 42.0):
        assert board.refusal(A, now) is None and board.refusal(A, now) is not None
        board.record(A, None, "", 0.0, now, began=now)


def test_a_try_that_is_never_heard_of_again_does_not_keep_it_closed_for_ever() -> None:
    board = broken()
    assert board.refusal(A, 40.0) is None
    assert board.refusal(A, 40.0 + PROBE_S - 1) is not None
    assert board.refusal(A, 40.0 + PROBE_S) is None


@pytest.mark.parametrize("outcome", ["ok", "broke", None])
@pytest.mark.parametrize("began", [-5.0, None])
def test_calls_that_were_under_way_before_it_opened_decide_nothing(outcome: Outcome, began: float | None) -> None:
    board = broken()
    for now in (20.0, 40.0):
        board.record(A, outcome, "", 50_000.0, now, began=began)
        assert board.states() == {A: "temporaryFailure"}
        board.refusal(A, 40.0)
    error = board.refusal(A, 40.0)
    assert error is not None and "another call" in error.fix


def test_each_time_it_stays_open_twice_as_long_and_after_five_times_for_good() -> None:
    board, now = broken(), 0.0
    for seconds in (30, 60, 120, 240):
        assert board.refusal(A, now + seconds - 1) is not None
        now += seconds
        assert board.refusal(A, now) is None
        board.record(A, "broke", "was killed by SIGSEGV", 0.0, now, began=now)
    assert board.states() == {A: "permanentFailure"}
    error = board.refusal(A, now + 1e9)
    assert error is not None and "(permanentFailure)" in error.message and "skills enable a" in error.fix


def test_bad_input_while_it_is_tried_out_closes_it_but_is_no_success() -> None:
    board = broken()
    assert board.refusal(A, 30.0) is None
    told(board, "failed", now=30.0)
    assert board.refusal(A, 30.0) is None and board.refusal(A, 30.0) is None
    broken(30.0, board)
    assert board.refusal(A, 30.0 + 59.0) is not None and board.refusal(A, 30.0 + 60.0) is None


def test_a_success_makes_the_waits_short_again() -> None:
    board = broken()
    assert board.refusal(A, 30.0) is None
    told(board, "ok", now=30.0)
    broken(30.0, board)
    assert board.refusal(A, 60.0) is None


def test_what_was_learned_is_forgotten_when_asked_and_for_another_state_of_the_skill() -> None:
    board = HealthBoard()
    board.renew(A, "digest-1")
    broken(0.0, board)
    board.renew(A, "digest-1")
    assert board.states() == {A: "temporaryFailure"}
    board.renew(A, "digest-2")
    assert board.states() == {} and board.refusal(A, 0.0) is None
    broken(0.0, board)
    board.reset(A)
    assert board.states() == {} and board.refusal(A, 0.0) is None


@pytest.mark.parametrize(
    ("outcomes", "degraded"),
    [
        (["ok", "failed"] * 3, False),
        (["ok", "failed"] * 4, True),
        (["ok"] * 5 + ["failed"] * 3, False),
        (["failed"] * 8 + ["ok"] * 20, False),
        (["ok"] * 20 + ["failed"] * 10, True),
    ],
)
def test_half_of_the_last_runs_not_ok_is_degraded(outcomes: Sequence[Outcome], degraded: bool) -> None:
    board = HealthBoard()
    told(board, *outcomes)
    assert board.states() == ({A: "degraded"} if degraded else {})
    assert board.refusal(A, 0.0) is None


@pytest.mark.parametrize(
    ("times", "timeout_s", "degraded"),
    [
        ([8_100.0] * 8, 10.0, True),
        ([8_100.0] * 7, 10.0, False),
        ([8_000.0] * 8, 10.0, False),
        ([8_100.0] * 8, 0.0, False),
        ([9_000.0] * 5 + [100.0] * 6, 10.0, False),
    ],
)
def test_runs_that_nearly_time_out_are_degraded(times: list[float], timeout_s: float, degraded: bool) -> None:
    board = HealthBoard()
    for ms in times:
        told(board, "ok", ms=ms, timeout_s=timeout_s)
    assert board.states() == ({A: "degraded"} if degraded else {})


def test_a_configuration_that_does_not_fit_is_degraded_at_least() -> None:
    wrong = Problem("config-invalid", "'n' is no number", "Correct it.", "config.json")
    skills = [Skill(name, Path("/") / name, problems=(wrong,)) for name in ("b", A)]
    assert HealthBoard().states(skills) == {A: "degraded", "b": "degraded"}
    assert broken().states(skills) == {A: "temporaryFailure", "b": "degraded"}
    assert HealthBoard().states([Skill("c", Path("/c"), problems=(replace(wrong, code="frontmatter"),))]) == {}


@pytest.mark.parametrize(
    "result", [run("timed_out"), run("protocol_violation"), run("killed"), refused("broken_venv")]
)
def test_who_is_refused_learns_nothing_of_the_runs_of_others(result: ScriptExecution | ToolError) -> None:
    board = HealthBoard()
    for _ in range(BROKE_TO_OPEN):
        board.observe(A, result, 0.0, 0.0, own_script=True)
    error = board.refusal(A, 0.0)
    assert error is not None and "secret" not in error.message + error.fix


def test_observed_runs_count_with_their_time() -> None:
    board = HealthBoard()
    for _ in range(8):
        board.observe(A, run("succeeded", ms=9_000.0, timeout=10), 0.0, 9.0, own_script=True)
    assert board.states() == {A: "degraded"}


def test_code_of_a_model_tells_that_the_environment_is_back_but_nothing_of_scripts() -> None:
    for result, state in ((refused(NO_ENVIRONMENT[0]), {}), (run("timed_out"), {A: "temporaryFailure"})):
        board = HealthBoard()
        for _ in range(BROKE_TO_OPEN):
            board.observe(A, result, 0.0, 0.0, own_script=isinstance(result, ScriptExecution))
        assert board.states() == {A: "temporaryFailure"}
        assert board.refusal(A, 30.0) is None
        board.observe(A, run("failed"), 30.0, 31.0, own_script=False)
        assert board.states() == state
        assert board.refusal(A, 31.0) is None


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads take turns after every few instructions."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-7)
    yield
    sys.setswitchinterval(usual)


def test_threads_that_ask_at_once_are_let_through_one_at_a_time(restless: None) -> None:
    boards, gate = [broken() for _ in range(300)], threading.Barrier(4)

    def ask() -> list[bool]:
        return [gate.wait() >= 0 and board.refusal(A, 30.0) is None for board in boards]

    with ThreadPoolExecutor(4) as threads:
        asked = [threads.submit(ask) for _ in range(4)]
    assert [sum(admitted) for admitted in zip(*(it.result() for it in asked), strict=True)] == [1] * 300
