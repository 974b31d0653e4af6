"""The engine: one pure function that moves a conversation by one event. No I/O, no clock, no randomness."""

from skillfleet_workers.wire.contract import CallRef, ToolError
from skillfleet_workers.wire.shown import shown_to_model

from ..tools.dispatch import ActiveAgain, Dispatch, OwnCall, dispatch
from ..tools.permission import denied_by_policy, permission
from .activations import at_rest
from .ending import Moved, close_turn, expire, finish, pending
from .limits import Problem
from .lost_calls import tool_unheard
from .messages import ToolCall
from .models import Conversation
from .moves import (
    CallModel,
    CancelRequested,
    CancelTool,
    ChildAwaited,
    ChildFinished,
    DeadlinePassed,
    Decided,
    Effect,
    Event,
    Finish,
    ModelFailed,
    ModelReplied,
    Paused,
    Resumed,
    RunTool,
    Submitted,
    ToolFailed,
    ToolFinished,
    ToolHandedBack,
    ToolLost,
    ToolUnstarted,
)
from .persons import decided, nobody_answered, standing
from .runs import ToolRun
from .told_calls import call_told


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
            return call_told(conversation, event, now)
        case ToolUnstarted() | ToolFailed() | ToolLost() | ToolHandedBack():
            return tool_unheard(conversation, event, now)
        case Decided():
            return decided(conversation, event, now)
        case Paused() | Resumed():
            return _paused_or_resumed(conversation, event, now)
        case CancelRequested():
            return finish(conversation, "cancelled", now, Problem(code="cancelled", message="Cancelled."))
        case DeadlinePassed():
            return _too_late(conversation, now)


def wanted(conversation: Conversation, effects: list[Effect]) -> list[Effect]:
    """Of the effects of several steps, those that the last one left standing."""
    if conversation.terminal:
        return [effect for effect in effects if isinstance(effect, CancelTool | Finish)]
    return effects


def _begin(conversation: Conversation, event: Submitted) -> Moved:
    if conversation.status != "queued":
        return conversation, []
    return conversation.model_copy(update={"status": "running", "snapshot": event.snapshot}), [CallModel()]


def _too_late(conversation: Conversation, now: float) -> Moved:
    if conversation.waiting_since is not None:
        return nobody_answered(conversation, now)
    return expire(conversation, now, "timeout", f"{conversation.spec.limits.timeout_s:g} s", "--timeout")


def _paused_or_resumed(conversation: Conversation, event: Paused | Resumed, now: float) -> Moved:
    if isinstance(event, Paused):
        return conversation.model_copy(update={"status": "paused"}), []
    if conversation.status != "paused":
        return conversation, []
    moved = standing(conversation.model_copy(update={"status": "running"}), now)
    return moved, pending(moved)


def _model_answered(conversation: Conversation, event: ModelReplied | ModelFailed, now: float) -> Moved:
    if not pending(conversation):
        return conversation, []
    if isinstance(event, ModelFailed):
        return finish(conversation, "failed", now, event.problem)
    moved = conversation.model_copy(
        update={
            "messages": (*conversation.messages, event.message),
            "usage": conversation.usage.plus(event.usage),
            "turn": conversation.turn + 1,
            "snapshot": event.snapshot.id if event.snapshot else conversation.snapshot,
            "trimmed": max(conversation.trimmed, event.trimmed),
            "divergences": (*conversation.divergences, *event.divergences),
        }
    )
    calls = event.message.tool_calls or ()
    if not calls:
        answered = moved.model_copy(update={"answer": event.message.content, "activated": at_rest(moved.activated)})
        return finish(answered, "completed", now)
    runs = tuple(_run_of(moved, index, call, event, now) for index, call in enumerate(calls))
    moved = standing(moved.model_copy(update={"runs": (*moved.runs, *runs)}), now)
    if not moved.out:
        return close_turn(moved, now)
    return moved, [RunTool(run) for run in moved.with_workers]


def _run_of(conversation: Conversation, index: int, call: ToolCall, event: ModelReplied, now: float) -> ToolRun:
    ref = CallRef(conversation_id=conversation.id, turn=conversation.turn, index=index)
    base = ToolRun(ref=ref, tool_call_id=call.id, name=call.function.name)
    meant = dispatch(call.function, conversation, event.snapshot)
    verdict = permission(base.name, meant, conversation, event.rules)
    match denied_by_policy(base.name) if verdict == "deny" else meant:
        case Dispatch(spec, request):
            tool = "" if spec.tool == base.name else spec.tool
            sent = {"asks": "approval"} if verdict == "ask" else {"sends": 1, "sent_at": now}
            return base.model_copy(update={"tool": tool, "request": request, **sent})
        case OwnCall(_, request):
            return base.model_copy(update={"request": request, "asks": "answer"})
        case ActiveAgain(request, governing, shown):
            answered = {"request": request, "status": "succeeded", "shown": shown, "governing": governing}
            return base.model_copy(update=answered)
        case ToolError() as error:
            return base.model_copy(update={"status": "tool_error", "shown": shown_to_model(error)})
