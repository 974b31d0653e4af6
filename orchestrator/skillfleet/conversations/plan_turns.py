"""What a conversation that executes a plan says in place of a model: all calls at once, then what they came to
(pure)."""

import json
from collections.abc import Callable, Iterable, Mapping

from skillfleet_workers.wire.contract import RUN_SCRIPT
from skillfleet_workers.wire.kept import KeptRun
from skillfleet_workers.wire.published import Snapshot

from ..plans.eligible import may_use
from ..plans.models import ExecutionResult, PlanSpec
from ..plans.outcome import Ended, How, execution_result
from ..plans.paths import ToolPath, skill_in, tool_path
from ..plans.showing import shown_result
from .limits import Problem
from .messages import FunctionCall, Message, ToolCall
from .models import Conversation
from .moves import ModelReplied
from .plan_runs import kept_under, tool_of

Kept = Callable[[str, Iterable[str]], Mapping[str, KeptRun]]
"""What the attempts at calls of a conversation have brought, by their ids."""

TIMEOUT = "timeout"
_HOW: Mapping[str, How] = {"completed": "done", "failed": "done", "cancelled": "cancelled", "expired": "expired"}


def no_kept(conversation_id: str, task_ids: Iterable[str]) -> dict[str, KeptRun]:
    """It is kept nowhere."""
    return {}


def plan_turn(
    conversation: Conversation, spec: PlanSpec, snapshot: Snapshot | None, kept: Kept, now: float
) -> ModelReplied:
    if conversation.turn == 0 and conversation.closing is None:
        calls = tuple(_call(spec, index) for index in range(len(spec.plan.tools)))
        return ModelReplied(Message(role="assistant", tool_calls=calls), snapshot=snapshot)
    result = result_of(conversation, spec, snapshot, kept, now, over=True)
    message = Message(role="assistant", content=shown_result(result))
    return ModelReplied(message, snapshot=snapshot, problem=None if result.success else _problem(result, spec))


def result_of(
    conversation: Conversation,
    spec: PlanSpec,
    snapshot: Snapshot | None,
    kept: Kept,
    now: float,
    *,
    over: bool = False,
) -> ExecutionResult:
    """At any moment: of what runs, too. `over`: it does not any more, whatever its status says yet."""
    task_ids = kept_under(conversation)
    found = kept(conversation.id, task_ids.values())
    closing = conversation.closing
    how = _HOW.get(conversation.status, "done" if over else "open")
    ended = Ended(
        how,
        began=conversation.started_at or now,
        at=conversation.finished_at or now,
        out_of_time=how == "expired" or (closing is not None and closing.code == TIMEOUT),
        others=_has_others(conversation, spec, snapshot),
    )
    answers = {one.tool_call_id: one.content or "" for one in conversation.messages if one.role == "tool"}
    shown = {run.key: answers.get(run.tool_call_id, run.shown) for run in conversation.runs}
    by_key = {key: found[task_id] for key, task_id in task_ids.items() if task_id in found}
    return execution_result(spec, conversation.runs, by_key, shown, ended)


def _has_others(conversation: Conversation, spec: PlanSpec, snapshot: Snapshot | None) -> bool:
    """Skills that the next plan could use; where nobody tells of skills, there may be some."""
    if snapshot is None:
        return True
    failed = {
        skill_in(tool_of(spec, run).tool_path)
        for run in conversation.runs
        if run.status not in (None, "succeeded", "skipped", "cancelled")
    }
    out = failed | set(spec.plan.disabled_skills)
    allowed = conversation.spec.skills
    return any(
        one.eligible and not one.hidden and one.name not in out and may_use(one.name, allowed)
        for one in snapshot.skills
    )


def _call(spec: PlanSpec, index: int) -> ToolCall:
    tool = spec.plan.tools[index]
    path = tool_path(tool.tool_path)
    assert isinstance(path, ToolPath), path
    named = {"skill_name": path.skill, "script": path.script}
    arguments = named | {"arguments": dict(tool.input), "timeout": spec.tool_timeout_s}
    function = FunctionCall(name=RUN_SCRIPT.tool, arguments=json.dumps(arguments, ensure_ascii=False))
    return ToolCall(id=f"call_{index}", function=function)


def _problem(result: ExecutionResult, spec: PlanSpec) -> Problem:
    required = {tool.tool_id for tool in spec.plan.tools if tool.required} & set(result.failed_tools)
    failed = [one for one in result.execution_trace if one.error and one.tool_id in required]
    why = "; ".join(f"{one.tool_id}: {one.error.message.rstrip('.')}" for one in failed[:3] if one.error)
    more = f"; and {len(failed) - 3} more" if len(failed) > 3 else ""
    told = f" ({why}{more})" if why else ""
    reason = result.failure_reason.replace("_", " ") if result.failure_reason else "it was ended"
    return Problem(
        code="plan_failed",
        message=f"The plan failed: {reason}{told}.",
        fix="Look at each tool with `skillfleet plan show`, and mend the plan or its skills.",
    )
