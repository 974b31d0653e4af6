"""Calls that were sent and of which no result came: sent again, or given up (pure)."""

from skillfleet_workers.wire.contract import ToolError
from skillfleet_workers.wire.shown import shown_to_model

from .ending import Moved, replace
from .models import Conversation
from .moves import BackoffOver, RunTool, ToolFailed, ToolFinished, ToolHandedBack, ToolLost, ToolUnstarted
from .plan_runs import tool_of
from .runs import ToolRun
from .told_calls import tool_finished, with_worker

FIRST_BACKOFF_S, LONGEST_BACKOFF_S = 0.1, 30.0
"""After a script's first failure it is run again so much later; after each further one after twice that."""

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


def tool_unheard(
    conversation: Conversation,
    event: ToolUnstarted | BackoffOver | ToolFailed | ToolLost | ToolHandedBack,
    now: float,
) -> Moved:
    if isinstance(event, BackoffOver):
        return _backoff_over(conversation, event.key), []
    run = with_worker(conversation, event.key)
    if run is None or conversation.status == "paused":
        return conversation, []
    match event:
        case ToolUnstarted():
            return _send_again(conversation, run, 0, now)
        case ToolFailed():
            pause_s = _pause_s(conversation, run, event.failures)
            return replace(conversation, _backed_off(run, event.failures, now - conversation.paused_s + pause_s)), []
        case ToolHandedBack(effects=told) if (told or run.task.effects) != "unsafe":
            return _send_again(conversation, run, 1, now)
        case ToolLost(effects=told) | ToolHandedBack(effects=told):
            said = event.said if isinstance(event, ToolLost) else ""
            update = {"losses": run.losses + 1, "effects": told or run.task.effects, "said": said}
            return _tool_lost(conversation, run.model_copy(update=update), now)


def _pause_s(conversation: Conversation, run: ToolRun, failures: int) -> float:
    if plan := conversation.spec.plan:
        return tool_of(plan, run).retry_policy.backoff_s(failures)
    return min(LONGEST_BACKOFF_S, FIRST_BACKOFF_S * 2.0 ** (failures - 1))


def _backed_off(run: ToolRun, failures: int, retry_at: float) -> ToolRun:
    ref = run.ref.model_copy(update={"attempt": run.ref.attempt + 1})
    return run.model_copy(update={"ref": ref, "losses": 0, "sends": 0, "failures": failures, "retry_at": retry_at})


def _backoff_over(conversation: Conversation, key: str) -> Conversation:
    """It is sent with the next calls for which there is room."""
    run = next((run for run in conversation.backing_off if run.key == key), None)
    if run is None or conversation.status == "paused":
        return conversation
    return replace(conversation, run.model_copy(update={"retry_at": None}))


def _tool_lost(conversation: Conversation, run: ToolRun, now: float) -> Moved:
    if run.effects != "unsafe" and run.losses < MAX_STARTS:
        return _send_again(conversation, run, 1, now)
    given_up = ToolFinished(run.key, "lost", shown_to_model(_why_given_up(run)))
    return tool_finished(replace(conversation, run), given_up, now)


def _why_given_up(run: ToolRun) -> ToolError:
    poison = run.losses >= MAX_STARTS
    if not run.said:
        return POISON if poison else UNKNOWN_END
    error, message = (UNRUNNABLE, UNRUNNABLE.message) if poison else (UNKNOWN_END, LOST_RUN)
    return error.model_copy(update={"message": f"{message}: {run.said}"})


def no_worker(run: ToolRun, why: str, waited_s: float) -> ToolError:
    needs = f": {why.rstrip('.')}" if why else ""
    return ToolError(
        error="no_worker_for_skill",
        message=f"No worker can run the skill {run.skill!r}{needs}. The call has waited {waited_s:.0f} s for one.",
        fix="Go about it without this skill, or tell the user that no worker of the fleet can run it now.",
    )


def _send_again(conversation: Conversation, run: ToolRun, attempts: int, now: float) -> Moved:
    ref = run.ref.model_copy(update={"attempt": run.ref.attempt + attempts})
    sends = 1 if attempts else run.sends + 1
    again = run.model_copy(update={"ref": ref, "sends": sends, "sent_at": now})
    return replace(conversation, again), [RunTool(again)]
