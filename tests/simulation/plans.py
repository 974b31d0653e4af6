"""Plans: which tools there are and which fail, when each may begin, and what must be true when all is over."""

from random import Random
from typing import Any
from uuid import UUID

from skillfleet.conversations.memory_store import MemoryStore
from skillfleet.conversations.messages import Message
from skillfleet.conversations.models import Conversation, ConversationSpec
from skillfleet.conversations.plan_runs import has_begun, quotes_of
from skillfleet.conversations.runs import ToolRun
from skillfleet.plans.checking import read_plan
from skillfleet.plans.models import PlanJson, PlanSpec, ToolInvocation
from skillfleet.subagents.models import AgentSpec
from skillfleet.tools.definitions import definition
from skillfleet_workers.wire.contract import RUN_SCRIPT, CallRef

from .chains import BROKEN, FLAKY
from .violations import claim_that

MOST_TOOLS, MOST_RETRIES = 7, 2
PATIENT_S = 6 * 86400.0


def planned(random: Random) -> dict[str, Any]:
    """Of the spec of such a conversation. Its scripts may be run again."""
    tools = [_tool(index, random) for index in range(random.randint(1, MOST_TOOLS))]
    plan = read_plan({"requestId": str(UUID(int=1)), "tools": tools, "parallel": random.random() < 0.7})
    assert isinstance(plan, PlanJson), plan
    spec = PlanSpec(plan=plan, timeout_s=PATIENT_S)
    return {
        "agent": AgentSpec(plan=spec),
        "script": None,
        "tools": (definition(RUN_SCRIPT),),
        "subagents": False,
        "opening": (Message(role="user", content="Execute the plan."),),
    }


def _tool(index: int, random: Random) -> dict[str, Any]:
    needs = [f"t{one}" for one in range(index) if random.random() < 0.4]
    return {
        "toolId": f"t{index}",
        "toolPath": f"pdf/{random.choice(['look', 'count', 'look', FLAKY, BROKEN])}",
        "input": {"n": index, "of": [{"$from": name} for name in needs]},
        "dependencies": needs,
        "required": random.random() < 0.6,
        "async": random.random() < 0.7,
        "retryPolicy": {"maxRetries": random.randint(0, MOST_RETRIES), "backoffMs": random.choice([0, 100, 5000])},
    }


def look_at_tool(store: MemoryStore, ref: CallRef, accepted: ConversationSpec) -> None:
    """As it begins to run, on whichever worker. `accepted`: as it was submitted."""
    kept, plan = store.find(ref.conversation_id), accepted.plan
    if kept is None or plan is None:
        return
    runs, tool = _by_tool(kept.position, plan), plan.plan.tools[ref.index]
    waited_for = [runs[name] for name in tool.dependencies]
    claim_that(all(run.status for run in waited_for), "16: a tool comes after those that it needs", ref.task_id)
    going_on = [one for one in plan.plan.tools if runs[one.tool_id].status is None and has_begun(runs[one.tool_id])]
    alone = [one for one in going_on if not plan.plan.may_overlap(one)]
    claim_that(not alone or len(going_on) == 1, "16: who must be alone is", (ref.task_id, [t.tool_id for t in alone]))


def look_at_message(store: MemoryStore, conversation: Conversation, run: ToolRun) -> None:
    """As it is sent. `conversation`: as its sender knows it."""
    kept, plan = store.find(conversation.id), conversation.spec.plan
    if kept is None or plan is None:
        return
    try:
        known, quoted = quotes_of(kept.position, plan, run), quotes_of(conversation, plan, run)
    except KeyError as unknown:
        claim_that(False, "16: a call quotes what was brought", (run.ref.task_id, unknown))
    else:
        done = {f"{conversation.id}.{key}.{record.attempt}" for key, record in kept.calls.items() if record.result}
        claim_that(
            all(one.task_id in done for one in quoted if one.task_id), "16: what is quoted is there", run.ref.task_id
        )
        claim_that(quoted == known, "16: a call quotes what was brought", (run.ref.task_id, quoted, known))


def look_at_plan(ended: Conversation, plan: PlanSpec) -> None:
    """When all is over: who was skipped, and what failed."""
    if ended.status not in ("completed", "failed"):
        return
    runs = _by_tool(ended, plan)
    for tool in plan.plan.tools:
        status, blame = runs[tool.tool_id].status, [one for one in _needs(plan, tool) if _stops(one, runs)]
        refused = status == "tool_error"  # before that was known: denied, or beyond a budget
        same = (status == "skipped") == bool(blame)
        claim_that(same or refused, "16: who is skipped", (ended.id, tool.tool_id, status))
        stopped = status == "cancelled" and ended.closing is not None and not tool.required
        may_fail = _may_fail(tool) or stopped or status in ("lost", "tool_error", "skipped")
        claim_that(status == "succeeded" or may_fail, "16: what fails had to", (ended.id, tool.tool_id, status))
    good = all(runs[tool.tool_id].status == "succeeded" for tool in plan.plan.tools if tool.required)
    claim_that((ended.status == "completed") == good, "16: a plan succeeds with its required tools", ended.id)


def _by_tool(conversation: Conversation, plan: PlanSpec) -> dict[str, Any]:
    return {plan.plan.tools[run.ref.index].tool_id: run for run in conversation.runs}


def _needs(plan: PlanSpec, tool: ToolInvocation) -> list[ToolInvocation]:
    return [one for one in plan.plan.tools if one.tool_id in tool.dependencies]


def _stops(tool: ToolInvocation, runs: dict[str, Any]) -> bool:
    status = runs[tool.tool_id].status
    return status == "skipped" or (tool.required and status != "succeeded")


def _may_fail(tool: ToolInvocation) -> bool:
    script = tool.tool_path.partition("/")[2]
    return script == BROKEN or (script == FLAKY and tool.retry_policy.max_retries == 0)
