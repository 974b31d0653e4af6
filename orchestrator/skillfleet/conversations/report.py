"""What a conversation came to, for scripts: the object that `--json` prints (pure)."""

from typing import Any

from skillfleet_workers.wire.contract import UsedSkill

from .limits import ConversationModel, Problem, Usage
from .models import Conversation, Status
from .persons import Asked


class CallReport(ConversationModel):
    """`key`: its place in the conversation, TURN.INDEX; `child`: the id of the conversation that worked on it."""

    key: str = ""
    name: str
    skill: str | None
    status: str | None
    worker: str
    runtime: str
    ms: float
    child: str = ""


class Report(ConversationModel):
    """`elapsed_ms`: from acceptance to the end, or to now. `dropped_results`: how many came late or twice.
    `snapshot`: the id of the skills that it keeps to, empty: none yet; `skills`: those that its calls really used.
    `waiting_for`: the calls that wait for a person."""

    id: str
    parent_id: str | None
    status: Status
    answer: str | None
    error: Problem | None
    turns: int
    tool_calls: tuple[CallReport, ...]
    snapshot: str
    skills: tuple[UsedSkill, ...]
    usage: Usage
    elapsed_ms: float
    dropped_results: int = 0
    tenant: str
    priority: int
    waiting_for: tuple[Asked, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json")


def report(conversation: Conversation, now: float) -> Report:
    end = conversation.finished_at or now
    return Report(
        id=conversation.id,
        parent_id=conversation.spec.parent_id,
        status=conversation.status,
        answer=conversation.answer,
        error=conversation.error,
        turns=conversation.turn,
        tool_calls=tuple(
            CallReport(
                key=run.key,
                name=run.name,
                skill=run.skill,
                status=run.status,
                worker=run.worker,
                runtime=run.runtime,
                ms=run.ms,
                child=run.child,
            )
            for run in conversation.runs
        ),
        snapshot=conversation.snapshot,
        skills=conversation.used,
        usage=conversation.usage,
        dropped_results=conversation.dropped,
        tenant=conversation.spec.tenant,
        priority=conversation.spec.priority,
        waiting_for=tuple(Asked.of(run) for run in conversation.with_persons),
        elapsed_ms=round((end - conversation.spec.created_at) * 1000, 1),
    )
