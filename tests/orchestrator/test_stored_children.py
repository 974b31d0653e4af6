"""Children of conversations that an earlier release stored, which kept with a call what it knew of its child."""

import json
from dataclasses import replace
from typing import Any

from tests.conversation_steps import NOW, after, asks, awaiting_model
from tests.forked_skills import CONTENT, RESEARCH, activate

from skillfleet.conversations.budgets import calls_made
from skillfleet.conversations.engine import step
from skillfleet.conversations.limits import Usage
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import ChildFinished, StartChild, ToolFinished
from skillfleet.conversations.schedule import Sight, observe
from skillfleet.conversations.stored import conversation_of, state_json, stored_apart
from skillfleet_workers.wire.calls import CallRecord, CallResult

FORKED = ToolFinished("1.0", "succeeded", CONTENT, "w1", governing=RESEARCH)
ENDED = ChildFinished("1.0", "succeeded", "bees dance", usage=Usage(output_tokens=5), calls=2)
RESULT = CallResult(status="succeeded", shown=CONTENT, worker="w1", governing=RESEARCH)
RECORD = CallRecord(attempt=1, beat_at=NOW, worker="w1", result=RESULT)


def as_stored_then(conversation: Conversation) -> Conversation:
    """Format 3 knew no `children`, and no `awaits`."""
    state = json.loads(state_json(conversation))
    for run in state["runs"]:
        child = conversation.child_of(f"{run['ref']['turn']}.{run['ref']['index']}")
        run.pop("awaits")
        if child and child.status:
            run |= {"child_usage": child.usage.model_dump(), "child_calls": child.calls}
    stored: dict[str, Any] = {name: value for name, value in state.items() if name != "children"} | {"format": 3}
    hashed = {
        "spec": conversation.spec.model_dump_json(),
        "state": json.dumps(stored),
        "created": str(int(NOW * 1000)),
    }
    return conversation_of(hashed, (message.model_dump_json() for message in conversation.messages))


def waiting() -> Conversation:
    return as_stored_then(after(awaiting_model(), asks(activate(), activate("b")), FORKED))


def test_a_call_still_waits_for_the_child_that_works_on_it() -> None:
    read = waiting()
    assert [run.awaits for run in read.with_children] == [("1.0",)]
    assert [(child.id, child.open) for child in read.open_children] == [("c1-1-0", True)]
    assert stored_apart(read)["children"] == "1.0"
    moved = after(read, ENDED)
    assert (moved.runs[0].status, moved.runs[0].shown) == ("succeeded", "bees dance")


def test_a_child_that_had_not_begun_begins() -> None:
    read = waiting()
    (awaited,) = observe(read, {"1.0": RECORD}, Sight(NOW))
    (start,) = step(read, awaited, NOW)[1]
    assert isinstance(start, StartChild) and (start.spec.opening[0].content or "").startswith(CONTENT)
    begun = observe(read, {"1.0": replace(RECORD, begun="c1-1-0")}, Sight(NOW))
    assert step(after(read, *begun), awaited, NOW)[1] == []


def test_what_a_child_had_used_still_counts() -> None:
    before = after(awaiting_model(), asks(activate(), activate("b")), FORKED, ENDED)
    read = as_stored_then(before)
    assert calls_made(read) == calls_made(before) == 4
    assert [(child.status, child.usage.output_tokens) for child in read.children] == [("completed", 5)]
