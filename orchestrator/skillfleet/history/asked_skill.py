"""The run of a skill without a model as one SkillExecution: of the skill that was asked for (pure)."""

import json
from collections.abc import Sequence

from skillfleet_workers.wire.versions import split

from ..conversations.models import Conversation
from ..subagents.models import AgentSpec
from .moments import moment
from .records import ExecutionStatus, SkillExecution, execution_id


def asked_execution(conversation: Conversation, agent: AgentSpec, runs: Sequence[SkillExecution]) -> SkillExecution:
    """`runs`: of its steps. A skill that only puts others together has their results, by name; one whose own script
    never began has failed with the conversation."""
    own = next((run for run in reversed(runs) if _same(run.skill_name, agent.skill)), None)
    status = _status(conversation, runs)
    began = (own.started_at if own else None) or min(
        (run.started_at for run in runs if run.started_at), default=moment(conversation.spec.created_at)
    )
    return SkillExecution(
        execution_id=own.execution_id if own else execution_id(conversation.id, ""),
        agent_id=conversation.id,
        skill_name=split(agent.skill)[0],
        skill_version=own.skill_version if own else agent.version,
        parameters=own.parameters if own else agent.params,
        result=_result(conversation, agent) if status == ExecutionStatus.SUCCESS else None,
        error=_error(conversation) if status in (ExecutionStatus.FAILED, ExecutionStatus.TIMEOUT) else None,
        status=status,
        started_at=began,
        completed_at=max(began, moment(conversation.finished_at)) if conversation.finished_at is not None else None,
        retry_count=own.retry_count if own else max((run.retry_count for run in runs), default=0),
        tenant=conversation.spec.tenant,
        call=own.call if own else "",
        tool=own.tool if own else "",
        worker=own.worker if own else "",
        runtime=own.runtime if own else "",
    )


def _status(conversation: Conversation, runs: Sequence[SkillExecution]) -> ExecutionStatus:
    if not conversation.terminal:
        return ExecutionStatus.PENDING
    if conversation.status == "completed":
        return ExecutionStatus.SUCCESS
    failed = [run.status for run in runs if run.status in (ExecutionStatus.FAILED, ExecutionStatus.TIMEOUT)]
    out_of_time = conversation.status == "expired" and conversation.error and conversation.error.code == "timeout"
    timed_out = conversation.status == "failed" and failed[:1] == [ExecutionStatus.TIMEOUT]
    return ExecutionStatus.TIMEOUT if out_of_time or timed_out else ExecutionStatus.FAILED


def _result(conversation: Conversation, agent: AgentSpec) -> dict[str, object]:
    results: dict[str, dict[str, object]] = json.loads(conversation.answer or "{}").get("results", {})
    own = next((result for name, result in results.items() if _same(name, agent.skill)), None)
    return dict(results) if own is None else own


def _error(conversation: Conversation) -> str:
    return conversation.error.message if conversation.error else f"The conversation was {conversation.status}."


def _same(one: str, other: str) -> bool:
    return split(one)[0] == split(other)[0]
