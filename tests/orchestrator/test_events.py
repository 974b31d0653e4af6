"""What a step adds to the stream that followers read."""

import json
from typing import Any

from tests.conversation_steps import (
    NOW,
    after,
    asks,
    awaiting_calls,
    awaiting_model,
    call,
    finished,
    list_skills,
    queued,
    run_python,
    says,
)

from skillfleet.conversations.engine import step
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import CancelRequested, Event, ToolFinished, ToolLost, ToolUnstarted
from skillfleet.events import changes, opening


def told(before: Conversation, *events: Event) -> list[tuple[str, Any]]:
    now, effects = before, []
    for event in events:
        now, more = step(now, event, NOW)
        effects += more
    return [(kind, json.loads(data)) for kind, data in changes(before, now, effects)]


def kinds(before: Conversation, *events: Event) -> list[str]:
    return [kind for kind, _ in told(before, *events)]


def test_a_stream_opens_with_what_was_asked() -> None:
    kinds_and_data = opening(queued(max_turns=3))
    assert [kind for kind, _ in kinds_and_data] == ["submitted", "message", "message"]
    assert json.loads(kinds_and_data[0][1])["limits"]["max_turns"] == 3


def test_a_reply_with_calls_is_told_with_each_call() -> None:
    message, sent, also_sent = told(awaiting_model(), asks(list_skills("a"), run_python("b")))
    assert message[0] == "message"
    assert sent == ("call", {"key": "1.0", "name": "list_skills", "attempt": 1, "arguments": ""})
    assert also_sent[1]["arguments"] == "skill_name=calculator, script=print(6 * 7)"


def test_the_next_turn_is_told_by_its_number() -> None:
    assert told(awaiting_calls(list_skills()), finished("1.0"))[-1] == ("turn", {"turn": 2})


def test_a_result_that_a_worker_told_is_not_told_again() -> None:
    refused_by_worker = ToolFinished("1.0", "tool_error", '{"message": "no such skill"}', "w1")
    assert kinds(awaiting_calls(list_skills()), refused_by_worker) == ["message", "turn"]
    broken_worker = ToolFinished("1.0", "lost", "{}", "w1")
    assert kinds(awaiting_calls(list_skills()), broken_worker) == ["message", "turn"]


def test_a_refused_call_is_told_as_its_result() -> None:
    entries = told(awaiting_model(), asks(call("rm_rf", "a"), list_skills("b")))
    assert [kind for kind, _ in entries] == ["message", "result", "call"]
    assert entries[1][1] == {
        "key": "1.0", "name": "rm_rf", "status": "tool_error", "tail": "There is no tool 'rm_rf'.",
    }  # fmt: skip


def test_a_turn_of_refused_calls_is_told_whole() -> None:
    entries = told(awaiting_model(), asks(call("rm_rf", "a"), call("get_skill", "b")))
    assert [kind for kind, _ in entries] == ["message", "message", "message", "result", "result", "turn"]
    assert entries[3][1]["tail"] == "There is no tool 'rm_rf'."
    assert "get_skill" in entries[4][1]["tail"]


def test_a_refused_call_is_told_once() -> None:
    mixed = awaiting_calls(call("rm_rf", "a"), list_skills("b"))
    assert kinds(mixed, finished("1.1")) == ["message", "message", "turn"]


def test_a_call_that_is_given_up_is_told_as_its_result() -> None:
    entries = told(awaiting_calls(run_python()), ToolLost("1.0"))
    assert [kind for kind, _ in entries] == ["message", "result", "turn"]
    assert (entries[1][1]["status"], entries[1][1]["key"]) == ("lost", "1.0")
    assert "worker died" in entries[1][1]["tail"]


def test_a_call_that_is_given_up_while_others_are_out_is_told_at_once() -> None:
    both = awaiting_calls(run_python("a"), list_skills("b"))
    assert kinds(both, ToolLost("1.0")) == ["result"]
    assert kinds(after(both, ToolLost("1.0")), finished("1.1")) == ["message", "message", "turn"]


def test_a_call_that_is_sent_again_is_told_with_its_attempt() -> None:
    ((kind, data),) = told(awaiting_calls(list_skills()), ToolLost("1.0"))
    assert (kind, data["attempt"]) == ("call", 2)


def test_of_an_attempt_whose_message_is_sent_once_more_nothing_is_told() -> None:
    assert kinds(awaiting_calls(list_skills()), ToolUnstarted("1.0")) == []


def test_the_end_is_told_with_the_answer_or_the_problem() -> None:
    assert told(awaiting_model(), says("42"))[-1] == (
        "ended",
        {"status": "completed", "answer": "42", "error": None},
    )
    entries = told(awaiting_calls(list_skills()), CancelRequested())
    assert [kind for kind, _ in entries] == ["message", "result", "ended"]
    assert entries[1][1] == {"key": "1.0", "name": "list_skills", "status": "cancelled", "tail": ""}
    assert entries[-1][1]["error"]["code"] == "cancelled"


def test_a_step_that_changes_nothing_tells_nothing() -> None:
    assert told(awaiting_model(), finished("1.0")) == []
