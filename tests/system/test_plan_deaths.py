"""Plans whose workers and orchestrators are killed while their tools run."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from tests.conformance.living import gone
from tests.system.fleet import wait_for
from tests.system.plan_tools import DONE, Holding, patch, plan, plan_skill, says, states, tool
from tests.system.standing_fleet import StandingFleet, standing_fleet

from skillfleet.conversations.runs import ToolRun
from skillfleet.fleet import Fleet
from skillfleet.plans.models import ErrorType


@contextmanager
def with_worker(state_dir: Path, slots: int) -> Iterator[StandingFleet]:
    """And with an orchestrator, which finds the dead soon."""
    with standing_fleet(state_dir) as fleet:
        fleet.place.add_skill("bench", plan_skill("bench"))
        fleet.place.add_skill("once", plan_skill("once", effects="unsafe"))
        fleet.orchestrator(SKILLFLEET_RECOVERY_SECONDS="8")
        fleet.worker(concurrency=slots)
        yield fleet


@pytest.fixture
def standing(state_dir: Path) -> Iterator[StandingFleet]:
    with with_worker(state_dir, 2) as fleet:
        yield fleet


@pytest.fixture
def narrow(state_dir: Path) -> Iterator[StandingFleet]:
    """Its worker begins nothing before it has done with what it runs."""
    with with_worker(state_dir, 1) as fleet:
        yield fleet


def killed(standing: StandingFleet, role: str, held: Holding) -> psutil.Process:
    """Its script, which ran until then."""
    (pid,) = held.pids()
    script = psutil.Process(pid)
    assert script.is_running()
    victim = standing.started[role].pop()
    assert victim.poll() is None
    victim.kill()
    victim.communicate()
    return script


def anew(standing: StandingFleet, role: str) -> None:
    if role == "worker":
        standing.worker(concurrency=2)
    else:
        standing.orchestrator(SKILLFLEET_RECOVERY_SECONDS="8")


def run_of(fleet: Fleet, name: str, index: int) -> ToolRun:
    return next(run for run in fleet.transcript(name).runs if run.ref.index == index)


def test_a_plan_outlives_its_worker_and_its_orchestrator(standing: StandingFleet) -> None:
    held, then = Holding(), Holding()
    asked = plan(
        tool("first", "say", says(patch(first=1), DONE)),
        held.tool("slow", "first", retries=1),
        then.tool("then", "slow", retries=1),
        tool("last", "say", says(patch(last={"$from": "slow", "pointer": "/held"}), DONE), "then"),
    )
    with standing.place.fleet() as fleet:
        name = fleet.submit_plan(asked, timeout=300, tool_timeout=200)
        wait_for(held.pids, "the first of them runs")
        killed(standing, "worker", held)
        wait_for(lambda: not held.pids(), "its script died with it")
        anew(standing, "worker")
        wait_for(held.pids, "it runs again")
        killed(standing, "orchestrator", held)
        held.let_go()
        wait_for(lambda: not held.pids(), "it ends while nobody looks")
        anew(standing, "orchestrator")
        wait_for(then.pids, "the next one runs")
        then.let_go()
        assert fleet.result(name).status == "completed"
        result = fleet.plan_result(name)
        assert set(states(result.execution_trace).values()) == {"completed"}
        assert result.final_state == {"first": 1, "last": held.mark}
        assert [one.retry_count for one in result.execution_trace] == [0, 0, 0, 0]
        assert (run_of(fleet, name, 1).losses, run_of(fleet, name, 1).ref.attempt) == (1, 2)
        results = [one.data["key"] for one in fleet.follow(name, live=False) if one and one.type == "result"]
        assert sorted(results) == ["1.0", "1.1", "1.2", "1.3"]


def test_a_tool_without_retries_whose_worker_dies_has_failed_where_it_must_not_be_repeated(
    standing: StandingFleet,
) -> None:
    held = Holding()
    asked = plan(held.tool("slow", skill="once", required=False), tool("next", "echo", {"n": 1}, "slow"))
    with standing.place.fleet() as fleet:
        name = fleet.submit_plan(asked, timeout=300, tool_timeout=200)
        wait_for(held.pids, "it runs")
        killed(standing, "worker", held)
        anew(standing, "worker")
        assert fleet.result(name).status == "completed"
        result = fleet.plan_result(name)
    assert states(result.execution_trace) == {"slow": "failed", "next": "completed"}
    error = result.execution_trace[0].error
    assert error and error.type is ErrorType.TOOL_EXECUTION_FAILED and "worker died" in error.message
    assert not held.pids()


@pytest.mark.parametrize("quotes", [True, False])
def test_a_result_that_comes_from_a_worker_that_was_given_up_is_the_tools(
    narrow: StandingFleet, quotes: bool
) -> None:
    held = Holding()
    mark = {"$from": "slow", "pointer": "/held"} if quotes else held.mark
    last = tool("last", "say", says(patch(last=mark), DONE), "slow")
    with narrow.place.fleet() as fleet:
        name = fleet.submit_plan(plan(held.tool("slow", retries=1), last), timeout=300, tool_timeout=200)
        wait_for(held.pids, "it runs")
        (pid,) = held.pids()
        script = psutil.Process(pid)
        (worker,) = narrow.started["worker"]
        os.kill(worker.pid, signal.SIGSTOP)
        try:
            wait_for(lambda: run_of(fleet, name, 0).ref.attempt == 2, "it is given up")
            held.let_go()
            wait_for(lambda: gone([script]), "its script ends")
        finally:
            os.kill(worker.pid, signal.SIGCONT)
        assert fleet.result(name).status == "completed"
        result = fleet.plan_result(name)
    assert [one.output for one in result.execution_trace] == [{"held": held.mark}, {"last": held.mark}]
    assert result.final_state == {"last": held.mark}


def until(look: Callable[[], object], standing: StandingFleet) -> None:
    wait_for(look, "it goes on", 90)


def test_a_plan_outlives_a_redis_that_is_killed_and_started_again(standing: StandingFleet) -> None:
    held = Holding()
    asked = plan(
        tool("first", "echo", {"n": 1}), held.tool("slow", "first", retries=2), tool("last", "echo", {}, "slow")
    )
    with standing.place.fleet() as fleet:
        name = fleet.submit_plan(asked, timeout=300, tool_timeout=200)
        wait_for(held.pids, "it runs")
        standing.server.kill()
        standing.server.start()
        until(held.pids, standing)
        held.let_go()
        assert fleet.result(name).status == "completed"
        assert set(states(fleet.plan_result(name).execution_trace).values()) == {"completed"}
