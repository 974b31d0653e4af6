"""Calls that wait for a person: for leave to be made, or for an answer (pure)."""

from typing import Any, Literal

from pydantic import Field, JsonValue

from skillfleet_workers.wire.contract import ToolError
from skillfleet_workers.wire.shown import shown_to_model

from ..plans.models import PlanSpec
from .budgets import limit_reached, with_last_turn
from .ending import Moved, answer_calls, close_turn, pending, replace, without_calls
from .limits import ConversationModel
from .models import Conversation
from .moves import Decided
from .plan_runs import named_in
from .runs import Decision, ToolRun

NO_ANSWER = ToolError(
    error="no_answer_from_person",
    message="The call waited for a person, and nobody answered in time.",
    fix="Answer now with what you have, and say what was not done.",
)

STOPPED = ToolError(
    error="cancelled",
    message="Another call of this turn waited for a person in vain, and this one was stopped before it came back.",
    fix="Answer without it, and say that it was not done.",
)


class Asked(ConversationModel):
    """What people are told of a call that waits for one of them. `question`: of one that waits for an answer;
    `arguments`: of one that waits for leave; `of_plan`: its toolId, where it is a plan's."""

    key: str
    kind: Literal["approval", "answer"]
    name: str
    skill: str | None = None
    question: str = ""
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    of_plan: str = ""

    @classmethod
    def of(cls, run: ToolRun, plan: PlanSpec | None) -> "Asked":
        about: dict[str, Any] = {"question": run.request.get("question", "")}
        if run.asks == "approval":
            about = {"arguments": run.request, "skill": run.skill}
        return cls(key=run.key, kind=run.asks or "approval", name=run.name, of_plan=named_in(plan, run), **about)


def asked_for(decision: Decision) -> str:
    """What a call must wait for to be decided so."""
    return "answer" if decision.verdict == "answered" else "approval"


def decided_entry(key: str, decision: Decision) -> dict[str, str]:
    """What followers see of it."""
    return {"key": key, **decision.model_dump()}


def standing(conversation: Conversation, now: float) -> Conversation:
    """With the status that its calls give it, where that is running or waiting. What it waits is not held against
    it."""
    if conversation.status not in ("running", "waiting"):
        return conversation
    waits = bool(conversation.with_persons)
    update: dict[str, Any] = {"status": "waiting" if waits else "running"}
    rested = now - conversation.paused_s
    if waits and conversation.waiting_since is None:
        update["waiting_since"] = rested
    elif not waits and conversation.waiting_since is not None:
        waited_s = conversation.waited_s + max(0.0, rested - conversation.waiting_since)
        update |= {"waiting_since": None, "waited_s": waited_s}
    return conversation.model_copy(update=update)


def decided(conversation: Conversation, event: Decided, now: float) -> Moved:
    """While it is paused nothing comes of it: the word is kept, and heard when it goes on."""
    run = next((run for run in conversation.with_persons if run.key == event.key), None)
    if run is None or conversation.status == "paused":
        return conversation, []
    run = run.model_copy(update={"asks": "", "decision": event.decision, **_outcome(run, event.decision)})
    moved = standing(replace(conversation, run), now)
    return (moved, []) if moved.out else close_turn(moved, now)


def nobody_answered(conversation: Conversation, now: float) -> Moved:
    """It is left the time that it had before it waited, for a last turn."""
    value = f"{conversation.spec.limits.wait_s:g} s of waiting for a person"
    problem = limit_reached("no_answer_from_person", value, "--person-timeout")
    stopped, effects = without_calls(conversation, shown_to_model(STOPPED))
    asked, in_vain = {run.key for run in conversation.with_persons}, {"shown": shown_to_model(NO_ANSWER)}
    runs = tuple(run.model_copy(update=in_vain) if run.key in asked else run for run in stopped.runs)
    stopped = stopped.model_copy(update={"runs": runs})
    moved = with_last_turn(answer_calls(standing(stopped, now)), problem)
    return moved, [*effects, *pending(moved)]


def _outcome(run: ToolRun, decision: Decision) -> dict[str, Any]:
    match decision.verdict:
        case "approved":
            return {}
        case "denied":
            return {"status": "tool_error", "shown": shown_to_model(_denied(run, decision.text))}
        case "answered":
            return {"status": "succeeded", "shown": decision.text}


def _denied(run: ToolRun, reason: str) -> ToolError:
    return ToolError(
        error="denied_by_person",
        message=f"A person has denied this call of {run.name}" + (f": {reason}" if reason else "."),
        fix="Do not repeat it: go about it in another way, or tell the user what was not allowed.",
    )
