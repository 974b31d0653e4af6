"""The engine: one pure function that moves a conversation by one event. No I/O, no clock, no randomness."""

import json

from skillfleet_workers.wire.contract import CallRef, ToolError
from skillfleet_workers.wire.published import Snapshot
from skillfleet_workers.wire.shown import shown_to_model

from ..subagents.fork import child_id, child_spec, forks
from ..tools.dispatch import ActiveAgain, Dispatch, dispatch
from ..tools.scripts import with_scripts
from .activations import at_rest, with_activations, with_used
from .messages import Message, ToolCall
from .models import Conversation, Problem, Status, ToolRun
from .moves import (
    CallModel,
    CancelRequested,
    CancelTool,
    ChildAwaited,
    ChildFinished,
    DeadlinePassed,
    Effect,
    Event,
    Finish,
    ModelFailed,
    ModelReplied,
    Paused,
    Resumed,
    RunTool,
    StartChild,
    Submitted,
    ToolFailed,
    ToolFinished,
    ToolHandedBack,
    ToolLost,
    ToolUnstarted,
)

MAX_STARTS = 3
"""How often an attempt may be started when it is lost each time."""

UNKNOWN_END = ToolError(
    error="worker_lost",
    message="The worker died while it ran this call; whether the script had its effects is not known.",
    fix="Find out what was done before you run it again.",
)
POISON = ToolError(
    error="poison_call",
    message=f"{MAX_STARTS} workers died, one after the other, while they ran this call. It is not run again.",
    fix="Do not repeat it: go about it in another way, or tell the user that this call ends its workers.",
)
LOST_RUN = "The run was lost, and whether the script had its effects is not known"
UNRUNNABLE = POISON.model_copy(
    update={
        "message": f"All {MAX_STARTS} starts of this call were lost, and it is not run again; the last one",
        "fix": "Do not repeat it: go about it in another way, or tell the user why this call cannot be run.",
    }
)

Moved = tuple[Conversation, list[Effect]]


def step(conversation: Conversation, event: Event, now: float) -> Moved:
    """The conversation after `event`, and what is to be done. An event that no longer applies changes nothing."""
    if conversation.terminal:
        return conversation, []
    match event:
        case Submitted():
            return _begin(conversation, event)
        case ModelReplied() | ModelFailed():
            return _model_answered(conversation, event, now)
        case ToolFinished() | ChildAwaited() | ChildFinished():
            return _call_told(conversation, event, now)
        case ToolUnstarted() | ToolFailed() | ToolLost() | ToolHandedBack():
            return _tool_unheard(conversation, event, now)
        case Paused():
            return conversation.model_copy(update={"status": "paused"}), []
        case Resumed():
            return _resume(conversation)
        case CancelRequested():
            return _finish(conversation, "cancelled", now, Problem(code="cancelled", message="Cancelled."))
        case DeadlinePassed():
            return _expire(conversation, now, "timeout", f"{conversation.spec.limits.timeout_s:g} s", "--timeout")


def pending(conversation: Conversation) -> list[Effect]:
    """What a conversation still wants when nothing new has happened to it: a model call, perhaps one that was cut
    off."""
    return [CallModel()] if conversation.status == "running" and not conversation.out else []


def wanted(conversation: Conversation, effects: list[Effect]) -> list[Effect]:
    """Of the effects of several steps, those that the last one left standing."""
    if conversation.terminal:
        return [effect for effect in effects if isinstance(effect, CancelTool | Finish)]
    return effects


def _begin(conversation: Conversation, event: Submitted) -> Moved:
    if conversation.status != "queued":
        return conversation, []
    return conversation.model_copy(update={"status": "running", "snapshot": event.snapshot}), [CallModel()]


def _resume(conversation: Conversation) -> Moved:
    if conversation.status != "paused":
        return conversation, []
    moved = conversation.model_copy(update={"status": "running"})
    return moved, pending(moved)


def _model_answered(conversation: Conversation, event: ModelReplied | ModelFailed, now: float) -> Moved:
    if not pending(conversation):
        return conversation, []
    if isinstance(event, ModelFailed):
        return _finish(conversation, "failed", now, event.problem)
    moved = conversation.model_copy(
        update={
            "messages": (*conversation.messages, event.message),
            "usage": conversation.usage.plus(event.usage),
            "turn": conversation.turn + 1,
            "snapshot": event.snapshot.id if event.snapshot else conversation.snapshot,
        }
    )
    calls = event.message.tool_calls or ()
    if not calls:
        answered = moved.model_copy(update={"answer": event.message.content, "activated": at_rest(moved.activated)})
        return _finish(answered, "completed", now)
    runs = tuple(_run_of(moved, index, call, event.snapshot, now) for index, call in enumerate(calls))
    moved = moved.model_copy(update={"runs": (*moved.runs, *runs)})
    if not moved.out:
        return _close_turn(moved, now)
    return moved, [RunTool(run) for run in moved.out]


def _run_of(conversation: Conversation, index: int, call: ToolCall, skills: Snapshot | None, now: float) -> ToolRun:
    ref = CallRef(conversation_id=conversation.id, turn=conversation.turn, index=index)
    base = ToolRun(ref=ref, tool_call_id=call.id, name=call.function.name)
    match dispatch(call.function, conversation, skills):
        case Dispatch(spec, request):
            tool = "" if spec.tool == base.name else spec.tool
            return base.model_copy(update={"tool": tool, "request": request, "sends": 1, "sent_at": now})
        case ActiveAgain(request, governing, shown):
            answered = {"request": request, "status": "succeeded", "shown": shown, "governing": governing}
            return base.model_copy(update=answered)
        case ToolError() as error:
            return base.model_copy(update={"status": "tool_error", "shown": shown_to_model(error)})


def _call_told(conversation: Conversation, event: ToolFinished | ChildAwaited | ChildFinished, now: float) -> Moved:
    if isinstance(event, ToolFinished):
        return _tool_finished(conversation, event, now)
    run = next((run for run in conversation.with_children if run.key == event.key), None)
    if run is None:
        return conversation, []
    if isinstance(event, ChildAwaited):
        return conversation, _start_child(conversation, run, event, now)
    moved = _replace(conversation, run.model_copy(update={"status": event.status, "shown": event.shown}))
    return (moved, []) if moved.out else _close_turn(moved, now)


def _tool_finished(conversation: Conversation, event: ToolFinished, now: float) -> Moved:
    run = _with_worker(conversation, event.key)
    if run is None:
        return conversation, []
    told = {"worker": event.worker, "runtime": event.runtime, "ms": event.ms, "governing": event.governing}
    moved = with_used(conversation, event.used)
    if forks(conversation, event.governing):
        forked = run.model_copy(update={**told, "child": child_id(run.ref)})
        moved = _replace(moved, forked)
        return moved, _start_child(moved, forked, ChildAwaited(event.key, event.shown, event.tools), now)
    moved = _replace(moved, run.model_copy(update={**told, "status": event.status, "shown": event.shown}))
    if event.tools and run.skill:
        moved = with_scripts(moved, run.skill, event.tools)
    return (moved, []) if moved.out else _close_turn(moved, now)


def _start_child(conversation: Conversation, run: ToolRun, awaited: ChildAwaited, now: float) -> list[Effect]:
    if conversation.status == "paused":
        return []
    return [StartChild(run.key, child_spec(conversation, run, awaited.content, awaited.tools, now))]


def _tool_unheard(
    conversation: Conversation, event: ToolUnstarted | ToolFailed | ToolLost | ToolHandedBack, now: float
) -> Moved:
    run = _with_worker(conversation, event.key)
    if run is None or conversation.status == "paused":
        return conversation, []
    match event:
        case ToolUnstarted():
            return _send_again(conversation, run, 0, now)
        case ToolFailed():
            return _send_again(conversation, run.model_copy(update={"losses": 0}), 1, now)
        case ToolHandedBack(effects=told) if (told or run.task.effects) != "unsafe":
            return _send_again(conversation, run, 1, now)
        case ToolLost(effects=told) | ToolHandedBack(effects=told):
            said = event.said if isinstance(event, ToolLost) else ""
            update = {"losses": run.losses + 1, "effects": told or run.task.effects, "said": said}
            return _tool_lost(conversation, run.model_copy(update=update), now)


def _tool_lost(conversation: Conversation, run: ToolRun, now: float) -> Moved:
    if run.effects != "unsafe" and run.losses < MAX_STARTS:
        return _send_again(conversation, run, 1, now)
    given_up = ToolFinished(run.key, "lost", shown_to_model(_why_given_up(run)))
    return _tool_finished(_replace(conversation, run), given_up, now)


def _why_given_up(run: ToolRun) -> ToolError:
    poison = run.losses >= MAX_STARTS
    if not run.said:
        return POISON if poison else UNKNOWN_END
    error, message = (UNRUNNABLE, UNRUNNABLE.message) if poison else (UNKNOWN_END, LOST_RUN)
    return error.model_copy(update={"message": f"{message}: {run.said}"})


def _send_again(conversation: Conversation, run: ToolRun, attempts: int, now: float) -> Moved:
    ref = run.ref.model_copy(update={"attempt": run.ref.attempt + attempts})
    sends = 1 if attempts else run.sends + 1
    again = run.model_copy(update={"ref": ref, "sends": sends, "sent_at": now})
    return _replace(conversation, again), [RunTool(again)]


def _close_turn(conversation: Conversation, now: float) -> Moved:
    """Every call of the turn is in: their tool messages join the transcript, in the order of the calls."""
    moved = _answer_calls(conversation)
    if moved.turn >= moved.spec.limits.max_turns:
        return _expire(moved, now, "max_turns", f"{moved.spec.limits.max_turns} turns", "--max-turns")
    return moved, pending(moved)


def _answer_calls(conversation: Conversation) -> Conversation:
    runs = [run for run in conversation.runs if run.ref.turn == conversation.turn]
    if not runs or conversation.messages[-1].role != "assistant":
        return conversation
    answers = tuple(
        Message(role="tool", tool_call_id=run.tool_call_id, name=run.name, content=run.shown or _unanswered(run))
        for run in runs
    )
    settled = tuple(run.settled() for run in conversation.runs)
    moved = with_activations(conversation)
    return moved.model_copy(update={"messages": (*conversation.messages, *answers), "runs": settled})


def _unanswered(run: ToolRun) -> str:
    return json.dumps({"status": run.status or "cancelled"})


def _expire(conversation: Conversation, now: float, limit: str, value: str, option: str) -> Moved:
    problem = Problem(
        code=limit,
        message=f"The conversation reached its limit of {value} without an answer.",
        fix=f"Raise it with {option}.",
    )
    return _finish(conversation, "expired", now, problem)


def _finish(conversation: Conversation, status: Status, now: float, problem: Problem | None = None) -> Moved:
    effects: list[Effect] = [CancelTool(run.key) for run in conversation.out]
    for run in conversation.out:
        conversation = _replace(conversation, run.model_copy(update={"status": "cancelled"}))
    ended = _answer_calls(conversation).model_copy(update={"status": status, "finished_at": now, "error": problem})
    return ended, [*effects, Finish(status)]


def _with_worker(conversation: Conversation, key: str) -> ToolRun | None:
    return next((run for run in conversation.with_workers if run.key == key), None)


def _replace(conversation: Conversation, changed: ToolRun) -> Conversation:
    runs = tuple(changed if run.key == changed.key else run for run in conversation.runs)
    return conversation.model_copy(update={"runs": runs})
