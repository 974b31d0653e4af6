"""What a call has come to, or its child (pure)."""

from skillfleet_workers.wire.contract import Governing, ToolError

from ..subagents.fork import child_id, forks
from ..subagents.models import ChildRun
from ..tools.scripts import with_scripts
from .activations import with_used
from .ending import Moved, close_turn, replace
from .models import Conversation
from .moves import ChildAwaited, ChildBegun, ChildFinished, ToolFinished
from .parenting import child_told, with_begun_child
from .runs import ToolRun


def call_told(
    conversation: Conversation, event: ToolFinished | ChildAwaited | ChildBegun | ChildFinished, now: float
) -> Moved:
    if isinstance(event, ToolFinished):
        return tool_finished(conversation, event, now)
    return child_told(conversation, event, now)


def tool_finished(conversation: Conversation, event: ToolFinished, now: float) -> Moved:
    run = with_worker(conversation, event.key)
    if run is None:
        return conversation, []
    told = {name: getattr(event, name) for name in ("worker", "runtime", "ms", "governing", "artifacts")}
    if event.attempt:  # one that was given up may have come back with it
        told["ref"] = run.ref.model_copy(update={"attempt": event.attempt})
    moved, run = with_used(conversation, event.used), run.model_copy(update=told)
    if event.governing and forks(conversation, event.governing):
        return _forked(moved, run, event.governing, ChildAwaited(event.key, event.shown, event.tools), now)
    moved = replace(moved, run.model_copy(update={"status": event.status, "shown": event.shown}))
    if event.tools and run.skill:
        moved = with_scripts(moved, run.skill, event.tools)
    return (moved, []) if moved.out else close_turn(moved, now)


def _forked(conversation: Conversation, run: ToolRun, governing: Governing, told: ChildAwaited, now: float) -> Moved:
    child = ChildRun(key=run.key, id=child_id(run.ref), skill=governing.skill)
    waiting = run.model_copy(update={"child": child.id, "awaits": (run.key,)})
    begun = with_begun_child(replace(conversation, waiting), child, told, now)
    if not isinstance(begun, ToolError):
        return begun
    moved = replace(conversation, run.refuse(begun))
    return (moved, []) if moved.out else close_turn(moved, now)


def with_worker(conversation: Conversation, key: str) -> ToolRun | None:
    return next((run for run in conversation.with_workers if run.key == key), None)
