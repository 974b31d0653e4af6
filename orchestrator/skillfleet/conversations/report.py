"""What a conversation came to, for scripts: the object that `--json` prints (pure)."""

from typing import Any, TypeVar

from pydantic import BaseModel, JsonValue, ValidationError

from skillfleet_workers.wire.contract import UsedSkill
from skillfleet_workers.wire.shown import short

from ..errors import BadRequestError
from .limits import ConversationModel, Divergence, Limits, Problem, Usage
from .models import Conversation, Status
from .persons import Asked
from .plan_runs import has_begun, named_in

RESULT_CHARS = 200
Data = TypeVar("Data", bound=BaseModel)


class CallReport(ConversationModel):
    """`key`: its place in the conversation, TURN.INDEX; `child`: the id of the conversation that worked on it;
    `of_plan`: its toolId in the plan that the conversation executes; `begun`: false before its turn in the plan."""

    key: str = ""
    name: str
    skill: str | None
    status: str | None
    worker: str
    runtime: str
    ms: float
    child: str = ""
    of_plan: str = ""
    begun: bool = True


class ChildReport(ConversationModel):
    """A subagent that it began, `call`: with this call. `status`: its terminal one, None: it has not ended; `result`:
    what it has come to, in short."""

    agent_id: str
    call: str
    name: str
    skill: str
    status: Status | None
    result: str = ""


class ArtifactReport(ConversationModel):
    """A file that a call has brought. `call`: its key; `digest`: SHA-256 by which it is in
    the artifact store, empty: it is not there."""

    call: str
    path: str
    bytes: int
    media_type: str
    digest: str


class Report(ConversationModel):
    """`elapsed_ms`: from acceptance to the end, or to now. `dropped_results`: how many came late or twice.
    `snapshot`: the id of the skills that it keeps to, empty: none yet; `skills`: those that its calls really used.
    `usage`: with what its children used; its cost by the prices of the models. `waiting_for`: the calls that wait for
    a person. `data`: the answer, where it had to fit a schema and does; `divergences`: where a replay is not as
    recorded. `subagents`: those that it began, in that order."""

    id: str
    parent_id: str | None
    status: Status
    answer: str | None
    error: Problem | None
    turns: int
    tool_calls: tuple[CallReport, ...]
    artifacts: tuple[ArtifactReport, ...] = ()
    snapshot: str
    skills: tuple[UsedSkill, ...]
    usage: Usage
    limits: Limits
    elapsed_ms: float
    dropped_results: int = 0
    tenant: str
    priority: int
    waiting_for: tuple[Asked, ...] = ()
    data: JsonValue = None
    divergences: tuple[Divergence, ...] = ()
    subagents: tuple[ChildReport, ...] = ()

    def data_as(self, model: type[Data]) -> Data:
        """The answer of a conversation that was asked with a schema, such as that of `model`.

        Raises:
            BadRequestError: there is no such answer, or it does not fit the model.
        """
        if self.data is None:
            raise BadRequestError(f"{self.id} has no data: submit with a schema, and look at its status first")
        try:
            return model.model_validate(self.data)
        except ValidationError as wrong:
            first = wrong.errors(include_url=False)[0]
            place = ".".join(str(step) for step in first["loc"]) or "the data"
            raise BadRequestError(f"the data of {self.id} is no {model.__name__}: {place}: {first['msg']}") from None

    def as_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json")


def artifacts_of(conversation: Conversation) -> tuple[ArtifactReport, ...]:
    """In the order of its calls; those of a call that a child conversation worked on are the child's."""
    return tuple(
        ArtifactReport.model_validate({"call": run.key, **one.model_dump()})
        for run in conversation.runs
        for one in run.artifacts
    )


def subagents_of(conversation: Conversation) -> tuple[ChildReport, ...]:
    return tuple(
        ChildReport.model_validate(
            {
                "agent_id": child.id,
                "call": child.key,
                "name": child.name,
                "skill": child.skill,
                "status": child.status or ("cancelled" if child.unwanted else None),
                "result": short(child.shown, RESULT_CHARS),
            }
        )
        for child in conversation.children
    )


def report(conversation: Conversation, now: float) -> Report:
    end, plan = conversation.finished_at or now, conversation.spec.plan
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
                of_plan=named_in(plan, run),
                begun=plan is None or bool(run.status) or has_begun(run),
            )
            for run in conversation.runs
        ),
        artifacts=artifacts_of(conversation),
        snapshot=conversation.snapshot,
        skills=conversation.used,
        usage=conversation.usage,
        limits=conversation.spec.limits,
        dropped_results=conversation.dropped,
        tenant=conversation.spec.tenant,
        priority=conversation.spec.priority,
        data=conversation.data,
        divergences=conversation.divergences,
        subagents=subagents_of(conversation),
        waiting_for=tuple(Asked.of(run, plan) for run in conversation.with_persons),
        elapsed_ms=round((end - conversation.spec.created_at) * 1000, 1),
    )
