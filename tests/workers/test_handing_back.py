"""What a worker that has to end does with the calls in its hands."""

from collections.abc import Iterator
from contextlib import suppress

import pytest
from celery.exceptions import Ignore
from tests.conformance.ledgers import RedisWorld, claimed, commit_steps, sequence, submitted
from tests.conversation_steps import asks, list_skills

from skillfleet.conversations.moves import Submitted
from skillfleet_workers.heartbeat import Heartbeat
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
        CallRunner(world.calls, heartbeat, "w1").run(LIST_SKILLS, tool, MESSAGE)
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


def test_a_call_that_starts_too_late_is_ended_at_once(world: RedisWorld, heartbeat: Heartbeat) -> None:
    heartbeat.end_all()
    with heartbeat.running(CALL) as cancelled:
        assert cancelled.is_set()
        assert heartbeat.busy == 1
    assert heartbeat.busy == 0
