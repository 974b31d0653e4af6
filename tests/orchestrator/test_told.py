"""What calls that need no worker have come to, as who follows reads it."""

import json

import pytest
from tests.conversation_steps import NOW, asks, awaiting_model, call

from skillfleet.conversations.engine import step
from skillfleet.conversations.moves import ModelReplied
from skillfleet.events import changes
from skillfleet.subagents.told import MOST_LINES, TOLD_CHARS, told_of_own
from skillfleet.tools.definitions import definition
from skillfleet.tools.own import SPAWN
from skillfleet_workers.wire.published import Entry, PublishedSkill, Snapshot

SCOUT = {"agent_id": "c1-1-0", "name": "scout", "state": "running", "note": "It ends when you answer."}
MAP = {"agent_id": "c1-1-1", "name": "", "state": "completed", "answer": "two\nrooms"}
LOST = {"agent_id": "c1-1-2", "name": "lost", "state": "failed", "error": "no way"}
ASKED = {"message_id": "m", "sender_id": "c1-1-0", "message_type": "request", "payload": {"what": "cup"}, "age": 0.1}


@pytest.mark.parametrize(
    ("tool", "shown", "told"),
    [
        ("spawn_subagent", SCOUT, "scout is running"),
        ("spawn_subagent", [1, 2], "[1, 2]"),
        ("cancel_subagent", LOST, "lost is failed: no way"),
        ("await_subagents", [SCOUT, MAP], "scout is running\nc1-1-1 is completed: two rooms"),
        ("list_subagents", [], "none"),
        ("send_message", {"message_id": "m", "correlation_id": "c", "delivered_to": 1}, "delivered to 1"),
        ("receive_messages", [ASKED], 'request of c1-1-0: {"what": "cup"}'),
        ("receive_messages", [ASKED | {"topic": "a.b"}], 'request of c1-1-0 about a.b: {"what": "cup"}'),
        ("ask_user", SCOUT, json.dumps(SCOUT)),
    ],
)
def test_each_subagent_and_each_message_is_a_line(tool: str, shown: object, told: str) -> None:
    assert told_of_own(tool, json.dumps(shown)) == told


def test_what_is_no_json_is_told_in_one_line() -> None:
    assert told_of_own("receive_messages", "[]\nNo message that fits has come.") == "No message that fits has come."
    assert told_of_own("spawn_subagent", "It is\nthere.") == "It is there."


def test_of_many_and_of_long_ones_the_first_are_told() -> None:
    shown = json.dumps([MAP | {"answer": "x" * 10_000}] * (MOST_LINES + 2))
    *lines, last = told_of_own("await_subagents", shown).splitlines()
    assert (len(lines), last) == (MOST_LINES - 1, "and 3 more")
    assert all(len(line) == TOLD_CHARS for line in lines)


def test_a_call_is_told_by_what_the_model_has_asked_for_and_not_by_what_was_worked_out_of_it() -> None:
    skill = PublishedSkill(name="navigate", version="1.0.0", digest="d", description="", entry=Entry(script="go.py"))
    before = awaiting_model()
    given = {"tools": (*before.spec.tools, definition(SPAWN)), "subagents": True}
    before = before.model_copy(update={"spec": before.spec.model_copy(update=given)})
    asked = asks(call("spawn_subagent", skill="navigate", params={"location": "kitchen"}))
    begun, effects = step(before, ModelReplied(asked.message, snapshot=Snapshot(skills=(skill,))), NOW)
    told = {kind: json.loads(data) for kind, data in changes(before, begun, effects)}
    assert told["call"]["arguments"] == "skill=navigate, params={'location': 'kitchen'}"
