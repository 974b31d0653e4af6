"""`execute_plan`: the plan that a model has written, and the child conversation that executes it (pure)."""

from typing import Any

from skillfleet_workers.wire.contract import RUN_SCRIPT, CallRef, ToolError
from skillfleet_workers.wire.published import Snapshot

from ..conversations.limits import Limits
from ..conversations.models import Conversation, ConversationSpec
from ..llm.prompts import prompted
from ..plans.checking import Wrong, read_plan, told
from ..plans.drafts import completed, plan_id
from ..plans.eligible import unrunnable
from ..plans.models import PLAN_TIMEOUT_S, TOOL_TIMEOUT_S, PlanJson, PlanSpec
from ..tools.definitions import definition
from .fork import born_of
from .models import AgentSpec, ChildRun

MISFIT = "plan_does_not_fit"
"""The code of the error that says so."""

PLAN = "plan"
"""In the request of a child that executes one."""


def plan_asked(
    request: dict[str, Any], conversation: Conversation, snapshot: Snapshot | None
) -> dict[str, Any] | ToolError:
    """The request of `execute_plan` as it is kept.

    `snapshot`: the skills that the conversation keeps to, None: not known."""
    given = request.get(PLAN)
    plan = read_plan(completed(given, plan_id(conversation.id, conversation.turn)))
    if isinstance(plan, tuple):
        return _misfit(plan)
    if snapshot is not None and (wrong := tuple(unrunnable(plan, snapshot, conversation.spec.skills))):
        return _misfit(wrong)
    return request | {PLAN: plan.as_json()}


def executing_spec(parent: Conversation, child: ChildRun, limits: Limits) -> ConversationSpec:
    request, call = child.request, CallRef.of_call(f"{parent.id}.{child.key}")
    plan = PlanJson.model_validate(request[PLAN])
    spec = PlanSpec(
        plan=plan,
        timeout_s=request.get("timeout", PLAN_TIMEOUT_S),
        tool_timeout_s=request.get("tool_timeout", TOOL_TIMEOUT_S),
    )
    return born_of(
        parent,
        call,
        limits,
        agent=AgentSpec(name=child.name, plan=spec),
        script=None,
        record=False,
        planning=False,
        opening=(prompted(f"Execute the plan {plan.request_id}."),),
        tools=(definition(RUN_SCRIPT),),
    )


def _misfit(wrong: tuple[Wrong, ...]) -> ToolError:
    return ToolError(
        error=MISFIT,
        message=f"The plan does not fit, and nothing of it was run: {told(wrong)}.",
        fix="Correct each of these places, and execute the whole plan again.",
    )
