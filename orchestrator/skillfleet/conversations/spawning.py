"""Subagents: begun, waited for, ended (pure)."""

import json

from skillfleet_workers.wire.contract import ToolError

from ..subagents.execute_plan import PLAN
from ..subagents.fork import MAX_DEPTH, child_id
from ..subagents.models import ChildRun
from ..tools.own import AWAIT, CANCEL_SUBAGENT, EXECUTE_PLAN
from .ending import Moved, close_turn, replace, with_child
from .models import Conversation
from .moves import ChildAwaited
from .parenting import told_of, with_answers, with_begun_child
from .runs import ToolRun

ENDS_WITH_YOU = "It ends when you answer; await_subagents brings what it answers."

TOO_DEEP = ToolError(
    error="too_deep",
    message=f"A subagent that stands below {MAX_DEPTH} others can begin none of its own.",
    fix="Do this part of the task yourself.",
)


def begin_spawning(conversation: Conversation, run: ToolRun, now: float) -> Moved:
    """`spawn_subagent`, `execute_plan`, `await_subagents` or `cancel_subagent`."""
    match run.name:
        case AWAIT.tool:
            return _await(conversation, run, now)
        case CANCEL_SUBAGENT.tool:
            return _cancel(conversation, run)
        case _:
            return _spawn(conversation, run, now)


def wait_over(conversation: Conversation, run: ToolRun, now: float) -> Moved:
    """It is answered with how far the children have come for which it waits."""
    moved = with_answers(conversation, run.key)
    return (moved, []) if moved.out else close_turn(moved, now)


def _spawn(conversation: Conversation, run: ToolRun, now: float) -> Moved:
    if conversation.spec.depth >= MAX_DEPTH:
        return _refused(conversation, run, TOO_DEEP)
    asked = run.request
    child = ChildRun(
        key=run.key,
        id=child_id(run.ref),
        name=PLAN if run.name == EXECUTE_PLAN.tool else asked.get("name", ""),
        skill=asked.get("skill", ""),
        request={name: value for name, value in asked.items() if name != "wait"},
    )
    begun = with_begun_child(conversation, child, ChildAwaited(run.key), now)
    if isinstance(begun, ToolError):
        return _refused(conversation, run, begun)
    moved, effects = begun
    run = run.model_copy(update={"begun": True, "child": child.id})
    if asked.get("wait", True):
        return replace(moved, run.model_copy(update={"awaits": (run.key,)})), effects
    return replace(moved, _done(run, told_of(child) | {"note": ENDS_WITH_YOU})), effects


def _await(conversation: Conversation, run: ToolRun, now: float) -> Moved:
    children, wanted = conversation.children, run.request.get("agent_ids")
    if wanted is None:
        named = [child for child in children if child.open or not (child.told or child.unwanted)]
    else:
        named = [child for child in children if child.id in wanted]
        if unknown := [name for name in wanted if name not in {child.id for child in named}]:
            return _refused(conversation, run, _unknown(unknown[0], conversation))
    if not named:
        return replace(conversation, _done(run, [])), []
    timeout = run.request.get("timeout")
    until = None if timeout is None else now - conversation.paused_s + timeout
    waiting = run.model_copy(update={"begun": True, "awaits": tuple(child.key for child in named), "until": until})
    return with_answers(replace(conversation, waiting), *([run.key] if timeout == 0 else [])), []


def _cancel(conversation: Conversation, run: ToolRun) -> Moved:
    wanted = run.request["agent_id"]
    child = next((child for child in conversation.children if child.id == wanted), None)
    if child is None:
        return _refused(conversation, run, _unknown(wanted, conversation))
    ended = child.left() if child.open else child
    moved = replace(with_child(conversation, ended), _done(run, told_of(ended)))
    return with_answers(moved), []


def _done(run: ToolRun, told: object) -> ToolRun:
    update = {"begun": True, "status": "succeeded", "shown": json.dumps(told, ensure_ascii=False)}
    return run.model_copy(update=update)


def _refused(conversation: Conversation, run: ToolRun, error: ToolError) -> Moved:
    return replace(conversation, run.refuse(error)), []


def _unknown(wanted: str, conversation: Conversation) -> ToolError:
    known = ", ".join(child.id for child in conversation.children)
    return ToolError(
        error="unknown_subagent",
        message=f"This conversation has begun no subagent {wanted!r}.",
        fix=f"Name one of: {known}." if known else "Begin one first, with spawn_subagent.",
    )
