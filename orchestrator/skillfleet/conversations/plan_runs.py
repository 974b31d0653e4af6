"""The calls of a conversation that executes a plan: how far they have come, and which may be sent (pure).

Its one turn has a call for each tool, whose index is the tool's place in the plan."""

import json

from skillfleet_workers.wire.contract import CallRef, ToolError
from skillfleet_workers.wire.quotes import Quote
from skillfleet_workers.wire.shown import shown_to_model

from ..plans.executor import Standing, skipped, startable
from ..plans.models import PlanSpec, ToolInvocation
from ..plans.quotes import Quoted, quotes
from .models import Conversation
from .runs import ToolRun

SKIPPED = "skipped"
"""The status of a call that will never be sent."""


def tool_of(spec: PlanSpec, run: ToolRun) -> ToolInvocation:
    return spec.plan.tools[run.ref.index]


def named_in(spec: PlanSpec | None, run: ToolRun) -> str:
    """The toolId of a plan's call."""
    return tool_of(spec, run).tool_id if spec else ""


def has_begun(run: ToolRun) -> bool:
    """It is on its way, or waits until it is run again."""
    return run.sends > 0 or run.retry_at is not None or run.failures > 0


def standing_of(conversation: Conversation, spec: PlanSpec) -> Standing:
    places: dict[str, set[str]] = {"succeeded": set(), "failed": set(), SKIPPED: set(), "begun": set()}
    held = {tool_of(spec, run).tool_id for run in conversation.with_persons}
    for run in conversation.runs:
        if run.status is None and not has_begun(run):
            continue
        place = "begun" if run.status is None else run.status if run.status in places else "failed"
        places[place].add(tool_of(spec, run).tool_id)
    return Standing(places["succeeded"], places["failed"], places[SKIPPED], places["begun"], held)


def sendable(conversation: Conversation, spec: PlanSpec) -> tuple[ToolRun, ...]:
    """First those that are run again. What waits for a person holds up nobody."""
    waiting = conversation.unsent
    again = tuple(run for run in waiting if has_begun(run))
    if len(again) == len(waiting):
        return again
    may_begin = set(startable(spec.plan, standing_of(conversation, spec)))
    return (*again, *(run for run in waiting if not has_begun(run) and tool_of(spec, run).tool_id in may_begin))


def with_skipped(conversation: Conversation) -> Conversation:
    """With what will never run answered: nobody waits for it."""
    spec = conversation.spec.plan
    if spec is None or not conversation.out:
        return conversation
    blamed = skipped(spec.plan, standing_of(conversation, spec))
    if not blamed:
        return conversation
    runs = tuple(
        _skipped(run, blamed[tool_of(spec, run).tool_id])
        if run.status is None and tool_of(spec, run).tool_id in blamed
        else run
        for run in conversation.runs
    )
    return conversation.model_copy(update={"runs": runs})


def quotes_of(conversation: Conversation, spec: PlanSpec, run: ToolRun) -> tuple[Quote, ...]:
    """What the tool's input quotes, as the worker is told of it. A tool that has failed has brought null.

    Raises:
        KeyError: as far as this conversation tells, a tool that it quotes has not ended.
    """
    found = list(quotes(dict(tool_of(spec, run).input)))
    if not found:
        return ()
    ended = {tool_of(spec, one).tool_id: one for one in conversation.runs if one.status is not None}
    return tuple(_quote(quoted, ended[quoted.tool_id]) for quoted in found)


def quoted_places(spec: PlanSpec, place: int) -> frozenset[int]:
    """In the plan, of the tools that the one at `place` quotes."""
    named = {quoted.tool_id for quoted in quotes(dict(spec.plan.tools[place].input))}
    return frozenset(number for number, tool in enumerate(spec.plan.tools) if tool.tool_id in named)


def kept_under(conversation: Conversation) -> dict[str, str]:
    """By the key of each call that a worker has answered: the id of the attempt, under which that is kept."""
    return {run.key: run.ref.task_id for run in conversation.runs if run.worker}


def first_call(conversation_id: str, index: int) -> CallRef:
    return CallRef(conversation_id=conversation_id, turn=1, index=index)


def _quote(quoted: Quoted, brought: ToolRun) -> Quote:
    task_id = brought.ref.task_id if brought.status == "succeeded" else ""
    return Quote(place=quoted.place, pointer=quoted.pointer if task_id else "", task_id=task_id, tool=quoted.tool_id)


def _skipped(run: ToolRun, blamed: str) -> ToolRun:
    error = ToolError(
        error="dependency_failed",
        message=f"It depends on {blamed!r}, which did not succeed; it was not run.",
        fix=f"Mend {blamed!r}, or let it be optional.",
    )
    return run.model_copy(update={"status": SKIPPED, "shown": shown_to_model(error), "asks": ""})


def message_of(shown: str) -> str:
    """Of a ToolError as a model is shown it; empty: it is none."""
    try:
        error = json.loads(shown)
    except ValueError:
        return ""
    return f"{error.get('message', '')} {error.get('fix', '')}".strip() if isinstance(error, dict) else ""
