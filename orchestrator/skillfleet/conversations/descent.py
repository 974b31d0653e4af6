"""A new conversation that goes on from one that has ended (pure): the old one never moves again."""

from collections.abc import Sequence
from typing import Any

from skillfleet_workers.wire.shown import without_pointers

from .activations import activated_at, at_rest, inherited
from .budgets import closing_message
from .limits import Problem
from .messages import Message, transcript_problem
from .models import Conversation, ConversationSpec
from .runs import ActivatedSkill, OfferedScript

_LOST = ("cancelled", None)
"""Of a call whose conversation ended before its result came in."""


def continued(parent: Conversation, child_id: str, prompt: str) -> ConversationSpec | Problem:
    """All that was said, and a new prompt, which no skill governs."""
    if not parent.terminal:
        return _still_open(parent)
    history = _whole(_unclosed(parent))
    return _child(parent, child_id, history, parent.scripts, at_rest(parent.activated), prompt)


def retried(parent: Conversation, child_id: str) -> ConversationSpec | Problem:
    """From the last good turn: the last one whose every call came back, and before an answer that was none."""
    if not parent.terminal:
        return _still_open(parent)
    if parent.status == "completed":
        return Problem(
            code="has_answered",
            message=f"{parent.id} has answered.",
            fix=f"Go on from it with `skillfleet submit --continue {parent.id} PROMPT`, or fork it.",
        )
    turn = min((run.ref.turn - 1 for run in parent.runs if run.status in _LOST), default=_last_working(parent))
    last = parent.messages[-1]
    if parent.turn and last.role == "assistant" and not last.tool_calls:
        turn = min(turn, parent.turn - 1)
    return _up_to(parent, child_id, turn)


def forked(parent: Conversation, child_id: str, turn: int, prompt: str) -> ConversationSpec | Problem:
    """What was said up to the end of that turn of the parent's own, and a new prompt."""
    if not parent.terminal:
        return _still_open(parent)
    if not 1 <= turn <= parent.turn:
        has = "no turns" if not parent.turn else f"turns 1 to {parent.turn}"
        return Problem(code="no_such_turn", message=f"{parent.id} has {has}, not {turn}.", fix="Name one with --at.")
    return _up_to(parent, child_id, turn, prompt)


def _up_to(parent: Conversation, child_id: str, turn: int, prompt: str | None = None) -> ConversationSpec:
    own = _unclosed(parent)[len(parent.spec.opening) :]
    starts = [place for place, message in enumerate(own) if message.role == "assistant"]
    kept = own[: starts[turn]] if turn < len(starts) else own
    history = _whole((*parent.spec.opening, *kept))
    return _child(parent, child_id, history, _scripts_at(parent, turn), activated_at(parent, turn), prompt)


def _child(
    parent: Conversation,
    child_id: str,
    history: Sequence[Message],
    scripts: tuple[OfferedScript, ...],
    activated: tuple[ActivatedSkill, ...],
    prompt: str | None,
) -> ConversationSpec:
    asked = [Message(role="user", content=prompt)] if prompt else []
    own: dict[str, Any] = {
        "id": child_id,
        "parent_id": parent.id,
        "opening": (*map(_without_pointers, history), *asked),
        "scripts": scripts,
        "activated": inherited(activated),
        "parent_call": "",
        "root": "",
        "agent": parent.spec.agent if prompt is None and not parent.spec.has_model else None,
        "depth": 0,
        "snapshot": "",
        "idempotency_key": "",
        "created_at": 0.0,
    }
    return parent.spec.model_copy(update=own)


def _scripts_at(parent: Conversation, turn: int) -> tuple[OfferedScript, ...]:
    """What the skills offer that were read by the end of the turn. A tool for all skills, which names none, stays:
    it is refused by its worker where it is of no use."""
    read = {run.skill for run in parent.runs if run.ref.turn <= turn}
    inherited = {script.name for script in parent.spec.scripts}
    return tuple(script for script in parent.scripts if script.name in inherited or script.skill_name in {"", *read})


def _unclosed(parent: Conversation) -> tuple[Message, ...]:
    """Without the message that told it to sum up: who goes on may call tools again."""
    told = closing_message(parent.closing) if parent.closing else None
    return tuple(message for message in parent.messages if message != told)


def _last_working(parent: Conversation) -> int:
    """Its last turn but for the one that summed up."""
    if parent.closing is None:
        return parent.turn
    place = parent.messages.index(closing_message(parent.closing))
    return parent.turn - sum(message.role == "assistant" for message in parent.messages[place:])


def _whole(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Without a last turn that was cut before its calls were answered."""
    kept = tuple(messages)
    while kept and transcript_problem(kept) is not None:
        kept = kept[:-1]
    return kept


def _without_pointers(message: Message) -> Message:
    """The keys of its calls are soon those of other calls."""
    if message.role != "tool":
        return message
    return message.model_copy(update={"content": without_pointers(message.content or "")})


def _still_open(parent: Conversation) -> Problem:
    return Problem(
        code="not_terminal",
        message=f"{parent.id} has not ended ({parent.status}).",
        fix=f"Wait for it with `skillfleet follow {parent.id}`, or end it with `skillfleet cancel {parent.id}`.",
    )
