"""The children of a conversation: begun, heard of, and what the calls come to that wait for them (pure)."""

import json
from collections.abc import Sequence
from itertools import chain
from typing import Any

from skillfleet_workers.wire.contract import ToolError
from skillfleet_workers.wire.shown import shown_to_model

from ..subagents.execute_plan import PLAN, executing_spec
from ..subagents.fork import child_spec
from ..subagents.models import AgentState, ChildRun
from ..subagents.spawn import spawned_spec
from .budgets import NOTHING_LEFT, child_limits, time_of_child
from .ending import Moved, close_turn, ended, with_child
from .models import Conversation
from .moves import ChildAwaited, ChildBegun, ChildFinished, Effect, Event, StartChild
from .runs import ToolRun

SHOWN_CHARS = 16_000
"""Of what a child has come to, so much is kept until a call was shown it."""

TOLD_CHARS = 400
"""And so much from then on."""

CANCELLED = ToolError(
    error="child_cancelled",
    message="The subagent was cancelled before it had answered.",
    fix="Answer without it, or spawn another one.",
)


def too_many(most: int) -> ToolError:
    return ToolError(
        error="max_children",
        message=f"This conversation may have {most} subagents at once; this one was not begun.",
        fix="Wait until one has ended, with await_subagents, or cancel one." if most else "Go about it without them.",
    )


def with_begun_child(
    conversation: Conversation, child: ChildRun, told: ChildAwaited, now: float
) -> Moved | ToolError:
    """`told`: of one that carries out a skill."""
    most = conversation.spec.limits.max_children
    if len(conversation.open_children) >= most:
        return too_many(most)
    limits = child_limits(conversation, now)
    if limits is None:
        return NOTHING_LEFT
    child = child.model_copy(update={"given": limits})
    moved = conversation.model_copy(update={"children": (*conversation.children, child)})
    return moved, _start(moved, child, told, now)


def child_told(conversation: Conversation, event: ChildAwaited | ChildBegun | ChildFinished, now: float) -> Moved:
    child = conversation.child_of(event.key)
    if child is not None and child.leaving and isinstance(event, ChildFinished):
        told = event.ended or ("completed" if event.status == "succeeded" else "cancelled")
        left = child.model_copy(update=_used(event) | {"status": told, "begun": event.begun})
        return with_child(conversation, left).model_copy(update={"usage": conversation.usage.plus(event.usage)}), []
    if child is None or not child.open:
        return conversation, []
    match event:
        case ChildAwaited():
            return conversation, [] if child.begun else _start(conversation, child, event, now)
        case ChildBegun():
            return with_child(conversation, child.model_copy(update={"begun": True, "request": {}})), []
        case ChildFinished():
            moved = with_child(conversation, _ended(child, event))
            moved = with_answers(moved.model_copy(update={"usage": moved.usage.plus(event.usage)}))
            moved = with_child(moved, _kept(moved.child_of(child.key) or child, SHOWN_CHARS))
            return (moved, []) if moved.out or not conversation.out else close_turn(moved, now)


def family_told(conversation: Conversation, event: Event, now: float) -> Moved:
    """Of one that is ending."""
    if not isinstance(event, ChildFinished):
        return conversation, []
    moved, _ = child_told(conversation, event, now)
    return ended(moved, now)


def _start(conversation: Conversation, child: ChildRun, told: ChildAwaited, now: float) -> list[Effect]:
    if conversation.status == "paused":
        return []
    given = child.given or child_limits(conversation, now) or conversation.spec.limits
    limits = given.model_copy(update={"timeout_s": time_of_child(conversation, now)})
    if child.request:
        spec_of = executing_spec if PLAN in child.request else spawned_spec
        return [StartChild(child.key, spec_of(conversation, child, limits))]
    forked = (run for run in conversation.out if run.key == child.key and run.governing)
    return [StartChild(run.key, child_spec(conversation, run, told.content, told.tools, limits)) for run in forked]


def _ended(child: ChildRun, event: ChildFinished) -> ChildRun:
    succeeded = event.status == "succeeded"
    update: dict[str, Any] = {
        "request": {},
        "begun": True,
        "status": event.ended or ("completed" if succeeded else "failed"),
        "succeeded": succeeded,
        "shown": event.shown,
        "artifacts": event.artifacts,
    }
    return child.model_copy(update=update | _used(event))


def _used(event: ChildFinished) -> dict[str, Any]:
    return {"usage": event.usage, "calls": event.calls, "given": event.kept}


def with_answers(conversation: Conversation, *over: str) -> Conversation:
    """The calls are answered of whose children none is open any more; `over`: keys of those that wait no longer."""
    answers: dict[str, ToolRun] = {}
    told: set[str] = set()
    for run in conversation.with_children:
        children = [child for child in conversation.children if child.key in run.awaits]
        if run.key in over or not any(child.open for child in children):
            answers[run.key] = _answered(run, children)
            told |= {child.key for child in children if not child.open}
    if not answers:
        return conversation
    runs = tuple(answers.get(run.key, run) for run in conversation.runs)
    kept = tuple(_told(child) if child.key in told else child for child in conversation.children)
    return conversation.model_copy(update={"runs": runs, "children": kept})


def _answered(run: ToolRun, children: Sequence[ChildRun]) -> ToolRun:
    artifacts = tuple(chain.from_iterable(child.artifacts for child in children))
    update: dict[str, Any] = {"status": "succeeded", "artifacts": artifacts}
    if run.awaits == (run.key,):
        (child,) = children
        shown = shown_to_model(CANCELLED) if child.unwanted else child.shown
        update |= {"status": "succeeded" if child.succeeded else "tool_error", "shown": shown}
    else:
        update["shown"] = json.dumps([told_of(child) for child in children], ensure_ascii=False)
    return run.model_copy(update=update)


def state_of_child(child: ChildRun) -> AgentState:
    """As far as its parent knows."""
    if child.open:
        return AgentState.RUNNING if child.begun else AgentState.IDLE
    return AgentState.COMPLETED if child.succeeded else AgentState.FAILED


def told_of(child: ChildRun, state: AgentState | None = None) -> dict[str, str]:
    """What its parent's model is shown of it."""
    told = {"agent_id": child.id, "name": child.name, "state": str(state or state_of_child(child))}
    if child.open:
        return told
    return told | {"answer" if child.succeeded else "error": _said(child)}


def _said(child: ChildRun) -> str:
    if child.unwanted:
        return CANCELLED.message
    if child.succeeded:
        return child.shown
    try:
        error = json.loads(child.shown)
        return f"{error['message']} {error['fix']}".strip()
    except (ValueError, TypeError, KeyError):  # it was shortened since
        return child.shown


def _told(child: ChildRun) -> ChildRun:
    return _kept(child.model_copy(update={"told": True, "artifacts": ()}), TOLD_CHARS)


def _kept(child: ChildRun, most: int) -> ChildRun:
    said = _said(child)
    return child.model_copy(update={"shown": said if len(said) <= most else f"{said[:most]}…"})
