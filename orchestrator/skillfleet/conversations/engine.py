"""The engine: one pure function that moves a conversation by one event. No I/O, no clock, no randomness."""

from typing import Any

from skillfleet_workers.wire.contract import CallRef, ToolError
from skillfleet_workers.wire.published import Snapshot
from skillfleet_workers.wire.shown import shown_to_model

from ..settings import PARALLEL_CALLS
from ..subagents.execute_plan import plan_asked
from ..subagents.spawn import asked_of
from ..tools.dispatch import ActiveAgain, Dispatch, OwnCall, dispatch
from ..tools.own import ASK_USER, EXECUTE_PLAN, READING, SPAWN, WAITING, OwnTool
from ..tools.permission import denied_by_policy, permission
from .answers import answered
from .budgets import admitted, out_of_time
from .ending import Moved, close_turn, finish, pending, time_short
from .limits import Problem
from .lost_calls import tool_unheard
from .messages import ToolCall
from .models import Conversation
from .moves import (
    BackoffOver,
    CallModel,
    CancelRequested,
    CancelTool,
    ChildAwaited,
    ChildBegun,
    ChildFinished,
    DeadlinePassed,
    Decided,
    Deliver,
    Effect,
    Event,
    Finish,
    MailCame,
    ModelFailed,
    ModelReplied,
    Paused,
    Posted,
    Resumed,
    RunTool,
    StartChild,
    Submitted,
    Subscribe,
    TakeMail,
    TimeShort,
    ToolFailed,
    ToolFinished,
    ToolHandedBack,
    ToolLost,
    ToolUnstarted,
    Unposted,
    WaitOver,
)
from .own_calls import own_told, with_begun
from .parallel import with_sent
from .parenting import family_told
from .persons import decided, nobody_answered, standing
from .plan_runs import with_skipped
from .recorded import with_divergences
from .repetition import without_repeated
from .runs import ToolRun
from .told_calls import call_told

_WAITING = {own.tool for own in WAITING}


def step(conversation: Conversation, event: Event, now: float, parallel: int = PARALLEL_CALLS) -> Moved:
    """The conversation after `event`, and what is to be done. An event that no longer applies changes nothing.
    `parallel`: most calls that are out at once."""
    if conversation.terminal:
        return conversation, []
    if conversation.ending:
        return family_told(conversation, event, now)
    moved, effects = _moved(conversation, event, now)
    begun, begins = with_begun(moved, now)
    ready, closes = _without_skipped(begun, now)
    sent, sends = with_sent(ready, parallel, now)
    return sent, [*effects, *begins, *closes, *sends]


def _without_skipped(conversation: Conversation, now: float) -> Moved:
    """Of a plan: what will never run is in."""
    moved = with_skipped(conversation)
    if moved is conversation:
        return moved, []
    moved = standing(moved, now)  # of those that waited for a person, some wait no longer
    return (moved, []) if moved.out else close_turn(moved, now)


def _moved(conversation: Conversation, event: Event, now: float) -> Moved:
    match event:
        case Submitted():
            return _begin(conversation, event, now)
        case ModelReplied() | ModelFailed():
            return _model_answered(conversation, event, now)
        case ToolFinished() | ChildAwaited() | ChildBegun() | ChildFinished():
            return call_told(conversation, event, now)
        case ToolUnstarted() | BackoffOver() | ToolFailed() | ToolLost() | ToolHandedBack():
            return tool_unheard(conversation, event, now)
        case Decided():
            return decided(conversation, event, now)
        case Paused() | Resumed():
            return _paused_or_resumed(conversation, event, now)
        case CancelRequested():
            return finish(conversation, "cancelled", now, Problem(code="cancelled", message="Cancelled."))
        case TimeShort() | DeadlinePassed():
            return time_short(conversation) if isinstance(event, TimeShort) else _too_late(conversation, now)
        case MailCame() | WaitOver() | Posted() | Unposted():
            return own_told(conversation, event, now)


def wanted(conversation: Conversation, effects: list[Effect]) -> list[Effect]:
    """Of the effects of several steps, those that the last one left standing."""
    if conversation.terminal or conversation.ending:
        return [effect for effect in effects if isinstance(effect, TakeMail | CancelTool | Finish)]
    out, open_ones = {run.key for run in conversation.out}, {child.key for child in conversation.open_children}
    return [effect for effect in effects if _stands(effect, out, open_ones)]


def _stands(effect: Effect, out: set[str], open_children: set[str]) -> bool:
    match effect:
        case RunTool(run):
            return run.key in out
        case Deliver(key=key) | Subscribe(key=key):
            return key in out
        case StartChild(key=key):
            return key in open_children
    return True


def _begin(conversation: Conversation, event: Submitted, now: float) -> Moved:
    if conversation.status != "queued":
        return conversation, []
    begun = {"status": "running", "snapshot": event.snapshot, **_started(conversation, now)}
    return conversation.model_copy(update=begun), [CallModel()]


def _too_late(conversation: Conversation, now: float) -> Moved:
    if conversation.waiting_since is not None:
        return nobody_answered(conversation, now)
    return finish(conversation, "expired", now, conversation.closing or out_of_time(conversation))


def _paused_or_resumed(conversation: Conversation, event: Paused | Resumed, now: float) -> Moved:
    if isinstance(event, Paused):
        return conversation.model_copy(update={"status": "paused"}), []
    if conversation.status != "paused":
        return conversation, []
    moved = standing(conversation.model_copy(update={"status": "running", **_started(conversation, now)}), now)
    return moved, pending(moved)


def _started(conversation: Conversation, now: float) -> dict[str, float]:
    """Once. It may have been paused before."""
    return {} if conversation.started_at else {"started_at": now, "paused_before_s": conversation.paused_s}


def _model_answered(conversation: Conversation, event: ModelReplied | ModelFailed, now: float) -> Moved:
    if not pending(conversation):
        return conversation, []
    if isinstance(event, ModelFailed):
        closing = conversation.closing
        return finish(conversation, "expired" if closing else "failed", now, closing or event.problem)
    moved = conversation.model_copy(
        update={
            "messages": (*conversation.messages, event.message),
            "usage": conversation.usage.plus(event.usage),
            "turn": conversation.turn + 1,
            "snapshot": event.snapshot.id if event.snapshot else conversation.snapshot,
            "trimmed": max(conversation.trimmed, event.trimmed),
            "asked_tokens": event.usage.input_tokens,
            "divergences": with_divergences(conversation.divergences, event.divergences),
            "asked": event.asked,
        }
    )
    calls = event.message.tool_calls or ()
    if not calls:
        return answered(moved, event.message.content, now, event.problem)
    if moved.closing:
        moved = moved.model_copy(update={"answer": event.message.content})
    asked = [_run_of(moved, index, call, event) for index, call in enumerate(calls)]
    bounded = {EXECUTE_PLAN.tool} if moved.spec.planning else set()  # the attempts at planning are
    runs = admitted(moved, without_repeated(moved, asked, _WAITING | bounded))
    moved = standing(moved.model_copy(update={"runs": (*moved.runs, *runs)}), now)
    return (moved, []) if moved.out else close_turn(moved, now)


def _run_of(conversation: Conversation, index: int, call: ToolCall, event: ModelReplied) -> ToolRun:
    ref = CallRef(conversation_id=conversation.id, turn=conversation.turn, index=index)
    base = ToolRun(ref=ref, tool_call_id=call.id, name=call.function.name)
    meant = dispatch(call.function, conversation, event.snapshot)
    verdict = permission(base.name, meant, conversation, event.rules)
    asks = "approval" if verdict == "ask" else ""
    match denied_by_policy(base.name) if verdict == "deny" else meant:
        case Dispatch(spec, request):
            tool = "" if spec.tool == base.name else spec.tool
            return base.model_copy(update={"tool": tool, "request": request, "asks": asks})
        case OwnCall(own, request) if own in READING:
            read = {"request": request, "status": "succeeded", "shown": event.outputs.get(index, "")}
            return base.model_copy(update=read)
        case OwnCall(own, request) if own is ASK_USER:
            return base.model_copy(update={"request": request, "asks": "answer"})
        case OwnCall(own, request):
            kept = _kept_request(own, request, conversation, event.snapshot)
            return base.model_copy(update={"own": True, **_unless_wrong(kept, asks)})
        case ActiveAgain(request, governing, shown):
            answered = {"request": request, "status": "succeeded", "shown": shown, "governing": governing}
            return base.model_copy(update=answered)
        case ToolError() as error:
            return base.model_copy(update=_unless_wrong(error))


def _kept_request(
    own: OwnTool, request: dict[str, Any], conversation: Conversation, snapshot: Snapshot | None
) -> dict[str, Any] | ToolError:
    if own is SPAWN:
        return asked_of(request, conversation, snapshot)
    if own is EXECUTE_PLAN:
        return plan_asked(request, conversation, snapshot)
    return request


def _unless_wrong(request: dict[str, Any] | ToolError, asks: str = "") -> dict[str, Any]:
    if isinstance(request, ToolError):
        return {"status": "tool_error", "shown": shown_to_model(request)}
    return {"request": request, "asks": asks}
