"""The end of a turn, and the end of a conversation (pure)."""

import json

from skillfleet_workers.wire.shown import shown_to_model

from ..subagents.models import ChildRun
from .activations import with_activations
from .budgets import OUT_OF_TIME, out_of_time, reached, with_last_turn
from .limits import Problem
from .messages import Message
from .models import Conversation, Status
from .moves import CallModel, CancelTool, Effect, Finish
from .repetition import stuck
from .runs import ToolRun

Moved = tuple[Conversation, list[Effect]]
"""A conversation, and what is to be done."""


def pending(conversation: Conversation) -> list[Effect]:
    """What a conversation still wants when nothing new has happened to it: a model call, perhaps one that was cut
    off."""
    waits = conversation.out or conversation.ending
    return [CallModel()] if conversation.status == "running" and not waits else []


def close_turn(conversation: Conversation, now: float) -> Moved:
    """Every call of the turn is in: their tool messages join the transcript, in the order of the calls."""
    if conversation.closing:
        return finish(conversation, "expired", now, conversation.closing)
    problem, moved = reached(conversation) or stuck(conversation), answer_calls(conversation)
    moved = with_last_turn(moved, problem) if problem else moved
    return moved, pending(moved)


def time_short(conversation: Conversation) -> Moved:
    """What is out is stopped: the model has its last turn now."""
    if conversation.status != "running" or conversation.closing:
        return conversation, []
    stopped, effects = without_calls(conversation, shown_to_model(OUT_OF_TIME))
    moved = with_last_turn(answer_calls(stopped), out_of_time(conversation))
    return moved, [*effects, *pending(moved)]


def answer_calls(conversation: Conversation) -> Conversation:
    runs = [run for run in conversation.runs if run.ref.turn == conversation.turn]
    if not runs or conversation.messages[-1].role != "assistant":
        return conversation
    answers = tuple(map(_answer, runs))
    settled = tuple(run.settled() for run in conversation.runs)
    moved = with_activations(conversation)
    return moved.model_copy(update={"messages": (*conversation.messages, *answers), "runs": settled})


def _answer(run: ToolRun) -> Message:
    return Message(
        role="tool",
        tool_call_id=run.tool_call_id,
        name=run.name,
        content=run.shown or _unanswered(run),
        attachments=run.images or None,
    )


def _unanswered(run: ToolRun) -> str:
    return json.dumps({"status": run.status or "cancelled"})


def finish(conversation: Conversation, status: Status, now: float, problem: Problem | None = None) -> Moved:
    """At once, or when its children have ended: nothing works for what has ended, and its usage is its tree's."""
    stopped, effects = without_calls(conversation)
    ending, more = ended(answer_calls(stopped).model_copy(update={"ending": status, "error": problem}), now)
    return ending, [*effects, *more]


def ended(conversation: Conversation, now: float) -> Moved:
    """Of one that is ending: where all of its children have."""
    status = conversation.ending
    if status is None or conversation.leaving:
        return conversation, []
    return conversation.model_copy(update={"status": status, "ending": None, "finished_at": now}), [Finish(status)]


def without_calls(conversation: Conversation, shown: str = "") -> Moved:
    """What is out is no longer wanted, and neither are its children."""
    effects: list[Effect] = [CancelTool(run.key) for run in conversation.out]
    ended = {"status": "cancelled", "shown": shown}
    runs = tuple(run.model_copy(update=ended) if run.status is None else run for run in conversation.runs)
    children = tuple(child.left() if child.open else child for child in conversation.children)
    return conversation.model_copy(update={"runs": runs, "children": children}), effects


def with_child(conversation: Conversation, changed: ChildRun) -> Conversation:
    children = tuple(changed if child.key == changed.key else child for child in conversation.children)
    return conversation.model_copy(update={"children": children})


def replace(conversation: Conversation, changed: ToolRun) -> Conversation:
    runs = tuple(changed if run.key == changed.key else run for run in conversation.runs)
    return conversation.model_copy(update={"runs": runs})
