"""What a call has come to, or its child (pure)."""

from ..subagents.fork import child_id, child_spec, forks
from ..tools.scripts import with_scripts
from .activations import with_used
from .budgets import NOTHING_LEFT, child_limits
from .ending import Moved, close_turn, replace
from .models import Conversation
from .moves import ChildAwaited, ChildFinished, Effect, StartChild, ToolFinished
from .runs import ToolRun


def call_told(conversation: Conversation, event: ToolFinished | ChildAwaited | ChildFinished, now: float) -> Moved:
    if isinstance(event, ToolFinished):
        return tool_finished(conversation, event, now)
    run = next((run for run in conversation.with_children if run.key == event.key), None)
    if run is None:
        return conversation, []
    if isinstance(event, ChildAwaited):
        return conversation, _start_child(conversation, run, event, now)
    told = {
        "status": event.status,
        "shown": event.shown,
        "artifacts": event.artifacts,
        "child_usage": event.usage,
        "child_calls": event.calls,
    }
    moved = replace(conversation, run.model_copy(update=told))
    moved = moved.model_copy(update={"usage": moved.usage.plus(event.usage)})
    return (moved, []) if moved.out else close_turn(moved, now)


def tool_finished(conversation: Conversation, event: ToolFinished, now: float) -> Moved:
    run = with_worker(conversation, event.key)
    if run is None:
        return conversation, []
    told = {name: getattr(event, name) for name in ("worker", "runtime", "ms", "governing", "artifacts")}
    moved = with_used(conversation, event.used)
    if forks(conversation, event.governing) and child_limits(conversation, now) is None:
        given_up = {"worker": event.worker, "runtime": event.runtime, "ms": event.ms}
        moved = replace(moved, run.model_copy(update=given_up).refuse(NOTHING_LEFT))
        return (moved, []) if moved.out else close_turn(moved, now)
    if forks(conversation, event.governing):
        forked = run.model_copy(update={**told, "child": child_id(run.ref)})
        moved = replace(moved, forked)
        return moved, _start_child(moved, forked, ChildAwaited(event.key, event.shown, event.tools), now)
    moved = replace(moved, run.model_copy(update={**told, "status": event.status, "shown": event.shown}))
    if event.tools and run.skill:
        moved = with_scripts(moved, run.skill, event.tools)
    return (moved, []) if moved.out else close_turn(moved, now)


def _start_child(conversation: Conversation, run: ToolRun, awaited: ChildAwaited, now: float) -> list[Effect]:
    if conversation.status == "paused":
        return []
    return [StartChild(run.key, child_spec(conversation, run, awaited.content, awaited.tools, now))]


def with_worker(conversation: Conversation, key: str) -> ToolRun | None:
    return next((run for run in conversation.with_workers if run.key == key), None)
