"""What calls that need no worker have come to, as who follows reads it."""

import json

import pytest

from skillfleet.subagents.told import MOST_LINES, TOLD_CHARS, told_of_own

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
