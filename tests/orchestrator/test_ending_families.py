"""Subagents that are told to end: by the model, or because who began them has answered."""

import json
from typing import Any

from tests.conversation_steps import NOW, after, asks, awaiting_model, call, says

from skillfleet.conversations.budgets import calls_made
from skillfleet.conversations.engine import step
from skillfleet.conversations.limits import Usage
from skillfleet.conversations.messages import ToolCall
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import (
    CancelRequested,
    ChildFinished,
    DeadlinePassed,
    Event,
    Finish,
    Paused,
    TimeShort,
)
from skillfleet.conversations.parenting import CANCELLED
from skillfleet.events import changes
from skillfleet.tools.definitions import definition
from skillfleet.tools.own import SPAWNING


def parent() -> Conversation:
    begun = awaiting_model()
    own = {"tools": tuple(map(definition, SPAWNING)), "subagents": True}
    return begun.model_copy(update={"spec": begun.spec.model_copy(update=own)})


def spawn(call_id: str = "a", **given: Any) -> ToolCall:
    return call("spawn_subagent", call_id, **{"prompt": "Count.", **given})


def shown(conversation: Conversation) -> list[Any]:
    """What the calls of the last turn have come to."""
    said = [message for message in conversation.messages if message.role == "assistant"]
    place = conversation.messages.index(said[-1])
    return [json.loads(message.content or "") for message in conversation.messages[place + 1 :]]


def test_one_that_is_cancelled_is_unwanted_and_whoever_waits_for_it_goes_on() -> None:
    begun = after(parent(), asks(spawn(wait=False)))
    moved, effects = step(begun, asks(call("cancel_subagent", agent_id="c1-1-0")), NOW)
    assert [(child.open, child.unwanted) for child in moved.children] == [(False, True)]
    assert shown(moved)[0]["state"] == "failed"
    assert not [kind for kind, _ in changes(begun, moved, effects) if kind == "child"]
    ended = after(moved, ChildFinished("1.0", "tool_error", "", ended="completed"))
    told = [json.loads(data) for kind, data in changes(moved, ended, []) if kind == "child"]
    assert told == [{"key": "1.0", "child": "c1-1-0", "status": "completed"}]
    both = after(parent(), asks(spawn(), call("cancel_subagent", "b", agent_id="c1-1-0")))
    assert [answer["error"] for answer in shown(both)] == ["child_cancelled", CANCELLED.message]


def test_a_parent_that_answers_takes_its_open_children_along() -> None:
    answered = after(after(parent(), asks(spawn(wait=False))), says("Done."))
    assert (answered.status, answered.ending) == ("running", "completed")
    assert [child.unwanted for child in answered.children] == [True]
    later: list[Event] = [says("No more."), CancelRequested(), DeadlinePassed(), Paused(), TimeShort()]
    assert all(step(answered, event, NOW + 9) == (answered, []) for event in later)
    used = Usage(output_tokens=7)
    told = ChildFinished("1.0", "succeeded", "", usage=used, calls=2, ended="completed")
    ended, effects = step(answered, told, NOW + 1)
    assert (ended.status, ended.ending, ended.finished_at, effects) == (
        "completed",
        None,
        NOW + 1,
        [Finish("completed")],
    )
    assert (ended.usage, calls_made(ended)) == (answered.usage.plus(used), 3)
