"""The record of one run of a skill: seed 002's rules, and what the run of a chain is as one."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError
from tests.conversation_steps import NOW, make_spec

from skillfleet.conversations.limits import Problem
from skillfleet.conversations.models import Conversation
from skillfleet.history.asked_skill import asked_execution
from skillfleet.history.records import MOST_RETRIES, ExecutionStatus, SkillExecution, execution_id
from skillfleet.subagents.models import AgentSpec, ChainStep
from skillfleet_workers.wire.uuids import is_uuid4

BEGAN = datetime(2025, 12, 19, 10, 5, 10, tzinfo=UTC)
ENDED = BEGAN + timedelta(milliseconds=70_000)


def execution(skill: str = "navigate", **fields: Any) -> SkillExecution:
    known: dict[str, Any] = {
        "execution_id": execution_id("a7", "1.0"), "agent_id": "a7", "skill_name": skill, "skill_version": "1.0.0",
        "parameters": {"location": "kitchen"}, "result": {"x": 1}, "status": "success",
        "started_at": BEGAN, "completed_at": ENDED,
    }  # fmt: skip
    return SkillExecution.model_validate(known | fields)


def test_what_it_says_of_itself_is_what_it_reads() -> None:
    told = json.loads(execution().model_dump_json())
    assert (told["duration_ms"], told["started_at"]) == (70_000, "2025-12-19T10:05:10Z")
    assert SkillExecution.model_validate_json(json.dumps(told)) == execution()


def test_its_id_is_a_uuid_that_is_made_again_from_its_call() -> None:
    ids = {execution_id(*call) for call in (("a", "1.0"), ("a", "1.1"), ("a1", "1.0"), ("a", "1.0"))}
    assert len(ids) == 3 and all(map(is_uuid4, ids))


@pytest.mark.parametrize(
    ("fields", "valid"),
    [
        ({"retry_count": 0}, True),
        ({"retry_count": MOST_RETRIES}, True),
        ({"retry_count": MOST_RETRIES + 1}, False),
        ({"retry_count": -1}, False),
        ({"execution_id": "exec-a1b2c3d4"}, False),
        ({"agent_id": ""}, False),
        ({"completed_at": BEGAN}, True),
        ({"completed_at": BEGAN - timedelta(milliseconds=1)}, False),
        ({"completed_at": None}, False),
        ({"started_at": None}, False),
        ({"started_at": datetime(2025, 12, 19)}, False),
        ({"error": "no"}, False),
        ({"status": "failed", "result": None, "error": "no"}, True),
        ({"status": "timeout", "result": None, "error": "too slow"}, True),
        ({"status": "failed", "result": None}, False),
        ({"status": "failed", "error": "no"}, False),
        ({"status": "pending", "result": None, "completed_at": None}, True),
        ({"status": "pending", "result": None, "completed_at": None, "started_at": None}, True),
        ({"status": "pending", "completed_at": None}, False),
        ({"status": "pending", "result": None}, False),
        ({"status": "lost"}, False),
    ],
)
def test_the_seeds_rules_hold_at_their_limits(fields: dict[str, Any], valid: bool) -> None:
    if valid:
        execution(**fields)
        return
    with pytest.raises(ValidationError):
        execution(**fields)


STEPS = (ChainStep(skill="navigate", script="a.py"), ChainStep(skill="detect", script="b.py", after=("navigate",)))
SLOW = execution("detect", status="timeout", result=None, error="timed_out")


def ran(skill: str, *runs: SkillExecution, **state: Any) -> SkillExecution:
    agent = AgentSpec(skill=skill, version="2.0.0", params={"p": 1}, steps=STEPS)
    conversation = Conversation.begun(make_spec().model_copy(update={"created_at": NOW, "agent": agent}))
    return asked_execution(conversation.model_copy(update=state), agent, runs)


def test_a_chain_is_one_execution_of_the_skill_that_was_asked_for() -> None:
    answer = json.dumps({"results": {"navigate": {"x": 1}, "detect": {"y": 2}}})
    done = {"status": "completed", "answer": answer, "finished_at": ENDED.timestamp() + 1}
    runs = (execution(), execution("detect", execution_id=execution_id("a7", "2.0"), retry_count=2))
    own = ran("detect", *runs, **done)
    assert (own.execution_id, own.result, own.retry_count) == (runs[1].execution_id, {"y": 2}, 2)
    whole = ran("fetch", *runs, **done)
    assert (whole.result, whole.skill_name, whole.skill_version) == (json.loads(answer)["results"], "fetch", "2.0.0")
    assert (whole.parameters, whole.started_at, whole.duration_ms) == ({"p": 1}, BEGAN, 71_000)


@pytest.mark.parametrize(
    ("state", "runs", "status", "error"),
    [
        ({"status": "running"}, (execution(),), ExecutionStatus.PENDING, None),
        (
            {"status": "failed", "error": Problem(code="step_failed", message="No.")},
            (execution(), SLOW),
            "timeout",
            "No.",
        ),
        (
            {"status": "expired", "error": Problem(code="timeout", message="Late.")},
            (execution(),),
            "timeout",
            "Late.",
        ),
        ({"status": "expired", "error": Problem(code="max_tool_calls", message="Enough.")}, (), "failed", "Enough."),
        (
            {"status": "cancelled", "error": Problem(code="cancelled", message="Cancelled.")},
            (),
            "failed",
            "Cancelled.",
        ),
    ],
)
def test_what_has_no_answer_says_why(
    state: dict[str, Any], runs: tuple[SkillExecution, ...], status: str, error: str | None
) -> None:
    ended = {} if state["status"] == "running" else {"finished_at": ENDED.timestamp()}
    found = ran("fetch", *runs, **state, **ended)
    assert (found.status, found.error, found.result) == (status, error, None)
