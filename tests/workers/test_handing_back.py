"""Calls that a worker hands back: it has to end, or has lost their runs."""

from collections.abc import Iterator
from contextlib import suppress

import pytest
from celery.exceptions import Ignore
from tests.conformance.ledgers import RedisWorld, claimed, commit_steps, sequence, submitted
from tests.conversation_steps import asks, list_skills

from skillfleet.conversations.moves import Submitted
from skillfleet_workers.heartbeat import Heartbeat
from skillfleet_workers.runtimes.base import RuntimeUnavailableError
from skillfleet_workers.tasks import CallRunner
from skillfleet_workers.tools import CallContext
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.contract import LIST_SKILLS, CallMessage, CallRef, ListSkills, Result, ToolError
from skillfleet_workers.wire.execution import ExecutionStatus, ScriptExecution

CALL = CallRef(conversation_id="c1", turn=1, index=0)
MESSAGE = CallMessage(ref=CALL, request={})


@pytest.fixture
def world(redis_urls: RedisUrls) -> Iterator[RedisWorld]:
    """With the one call of a turn out."""
    world = RedisWorld(redis_urls)
    with world.client, world.ledger.client:
        submitted(world)
        commit_steps(world, claimed(world), Submitted(), asks(list_skills("a")), due_in=60)
        yield world


@pytest.fixture
def heartbeat(world: RedisWorld) -> Heartbeat:
    return Heartbeat(world.calls)


def run(world: RedisWorld, heartbeat: Heartbeat, result: Result, *, end: bool = True) -> list[str]:
    """What is told of a call that ends with this result, at the moment at which all has to end."""

    def tool(request: ListSkills, context: CallContext) -> Result:
        if end:
            heartbeat.end_all()
        assert context.cancelled.is_set() == end
        return result

    with suppress(Ignore):
        stored = CallRunner(world.calls, heartbeat, "w1").run(LIST_SKILLS, tool, MESSAGE)
        assert not isinstance(result, ScriptExecution) or stored["status"] == result.status
    return [kind for _, kind in sequence(world)][-2:]


@pytest.mark.parametrize("status", ["cancelled", "lost"])
def test_a_run_that_it_has_ended_is_handed_back(
    world: RedisWorld, heartbeat: Heartbeat, status: ExecutionStatus
) -> None:
    assert run(world, heartbeat, ScriptExecution(status=status)) == ["started", "returned"]


def test_a_build_that_it_has_ended_is_handed_back(world: RedisWorld, heartbeat: Heartbeat) -> None:
    ended = ToolError(error="cancelled", message="cancelled", fix="")
    assert run(world, heartbeat, ended) == ["started", "returned"]


@pytest.mark.parametrize("status", ["succeeded", "failed", "timed_out", "killed", "oom_killed"])
def test_a_run_that_came_to_its_own_end_is_recorded(
    world: RedisWorld, heartbeat: Heartbeat, status: ExecutionStatus
) -> None:
    assert run(world, heartbeat, ScriptExecution(status=status)) == ["started", "result"]


def test_a_cancelled_run_is_recorded_so_where_nothing_has_to_end(world: RedisWorld, heartbeat: Heartbeat) -> None:
    assert run(world, heartbeat, ScriptExecution(status="cancelled"), end=False) == ["started", "result"]


def said_of(world: RedisWorld) -> str:
    """By its worker, to those who follow the conversation, of the attempt that was lost."""
    (told,) = (entry.data for entry in world.ledger.entries("c1", "0", 0) if entry.type == "lost")
    return str(told["text"])


def test_a_run_that_was_lost_is_no_result_and_what_is_known_of_it_is_told(
    world: RedisWorld, heartbeat: Heartbeat
) -> None:
    lost = ScriptExecution(status="lost", error="its supervisor was killed", stdout="x" * 9_000 + "\norder 17\n")
    assert run(world, heartbeat, lost, end=False) == ["started", "lost"]
    said = said_of(world)
    assert said.startswith("its supervisor was killed; its output until then: …x") and said.endswith("x\norder 17")
    assert len(said) < 3_000


def test_a_run_that_the_worker_cannot_start_counts_as_lost_with_the_reason(
    world: RedisWorld, heartbeat: Heartbeat
) -> None:
    def tool(request: ListSkills, context: CallContext) -> Result:
        raise RuntimeUnavailableError("no sandbox can be made")

    stored = CallRunner(world.calls, heartbeat, "w1").run(LIST_SKILLS, tool, MESSAGE)
    assert stored["status"] == "lost"
    assert said_of(world) == "the worker could not run the script: no sandbox can be made"


def test_a_call_that_starts_too_late_is_ended_at_once(world: RedisWorld, heartbeat: Heartbeat) -> None:
    heartbeat.end_all()
    with heartbeat.running(CALL) as cancelled:
        assert cancelled.is_set()
        assert heartbeat.busy == 1
    assert heartbeat.busy == 0
