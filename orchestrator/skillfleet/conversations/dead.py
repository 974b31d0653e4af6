"""Calls that were given up because they were lost while they ran: what people see of one, and how it is made once
more (pure)."""

from typing import Any, Literal

from skillfleet_workers.wire.contract import Effects

from ..tools.definitions import definition
from .ledger import DeadCall
from .limits import ConversationModel
from .lost_calls import MAX_STARTS
from .messages import Message
from .models import ConversationSpec


class DeadReport(ConversationModel):
    """`reason`: `poison` was lost each time that it was started; `unsafe` was lost once, and may have had its
    effects. `said`: how it was lost the last time; empty: its worker died. `at`: seconds since the epoch; `request`:
    the payload, whole."""

    id: str
    conversation_id: str
    tool: str
    skill: str | None
    reason: Literal["poison", "unsafe"]
    effects: Effects | None
    losses: int
    said: str = ""
    at: float
    request: dict[str, Any]


def dead_report(call: DeadCall) -> DeadReport:
    run = call.run
    return DeadReport(
        id=run.ref.call_id,
        conversation_id=call.conversation.id,
        tool=run.task.tool,
        skill=run.skill,
        reason="poison" if run.losses >= MAX_STARTS else "unsafe",
        effects=run.effects,
        losses=run.losses,
        said=run.said,
        at=call.at,
        request=run.request,
    )


def repeated(call: DeadCall, child_id: str) -> ConversationSpec:
    """A conversation of its own that makes this one call and answers with what it brings: the one that made it first
    has gone on without it."""
    task = call.run.task
    made = {"tool": task.tool, "arguments": call.run.request, "as": "call"}
    own: dict[str, Any] = {
        "id": child_id,
        "parent_id": call.conversation.id,
        "parent_call": "",
        "depth": 0,
        "snapshot": "",
        "model": "scripted:dead-call",
        "script": {"replies": [{"calls": [made]}, {"text": "${call}"}]},
        "script_start": 0,
        "opening": (Message(role="user", content=f"Make the call {call.run.ref.call_id} once more."),),
        "tools": (definition(task),),
        "scripts": (),
        "activated": (),
        "idempotency_key": "",
        "created_at": 0.0,
    }
    return call.conversation.spec.model_copy(update=own)
