"""The engine: what each event does to a conversation in each state."""

import json
from typing import Any

import pytest
from tests.conversation_steps import (
    NOW,
    after,
    asks,
    awaiting_calls,
    awaiting_model,
    call,
    finished,
    last_effects,
    list_skills,
    queued,
    run_python,
    says,
)

from skillfleet.conversations.ending import pending
from skillfleet.conversations.engine import step, wanted
from skillfleet.conversations.limits import Problem, Usage
from skillfleet.conversations.messages import Message, transcript_problem
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import (
    CallModel,
    CancelRequested,
    CancelTool,
    DeadlinePassed,
    Effect,
    Event,
    Finish,
    ModelFailed,
    RunTool,
    Submitted,
    ToolFailed,
    ToolLost,
    ToolUnstarted,
)

BROKEN = ModelFailed(Problem(code="model_unavailable", message="It is down."))

STATES: dict[str, Conversation] = {
    "queued": queued(),
    "asking": awaiting_model(),
    "calling": awaiting_calls(list_skills()),
    "completed": after(awaiting_model(), says("42")),
    "failed": after(awaiting_model(), BROKEN),
    "cancelled": after(queued(), CancelRequested()),
    "expired": after(awaiting_calls(list_skills()), DeadlinePassed()),
}
EVENTS: dict[str, Event] = {
    "submitted": Submitted(),
    "says": says("42"),
    "asks": asks(run_python("b")),
    "model failed": BROKEN,
    "finished": finished("1.0"),
    "unstarted": ToolUnstarted("1.0"),
    "lost": ToolLost("1.0"),
    "failed attempt": ToolFailed("1.0"),
    "cancel": CancelRequested(),
    "deadline": DeadlinePassed(),
}
MOVES: dict[tuple[str, str], tuple[str, list[type[Effect]]]] = {
    ("queued", "submitted"): ("running", [CallModel]),
    ("queued", "cancel"): ("cancelled", [Finish]),
    ("queued", "deadline"): ("expired", [Finish]),
    ("asking", "says"): ("completed", [Finish]),
    ("asking", "asks"): ("running", [RunTool]),
    ("asking", "model failed"): ("failed", [Finish]),
    ("asking", "cancel"): ("cancelled", [Finish]),
    ("asking", "deadline"): ("expired", [Finish]),
    ("calling", "finished"): ("running", [CallModel]),
    ("calling", "unstarted"): ("running", [RunTool]),
    ("calling", "lost"): ("running", [RunTool]),
    ("calling", "failed attempt"): ("running", []),
    ("calling", "cancel"): ("cancelled", [CancelTool, Finish]),
    ("calling", "deadline"): ("expired", [CancelTool, Finish]),
}
"""All that moves a conversation; every other pair changes nothing."""


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("state", STATES)
def test_an_event_moves_a_conversation_or_changes_nothing(state: str, event: str) -> None:
    before = STATES[state]
    moved, effects = step(before, EVENTS[event], NOW)
    if (state, event) not in MOVES:
        assert (moved, effects) == (before, [])
        return
    assert moved != before
    assert (moved.status, [type(effect) for effect in effects]) == MOVES[state, event]
    assert moved.terminal == any(isinstance(effect, Finish) for effect in effects)
    if moved.terminal:
        assert transcript_problem(moved.messages) is None
        assert moved.finished_at == NOW


def tool_messages(conversation: Conversation) -> list[Message]:
    return [message for message in conversation.messages if message.role == "tool"]


def shown(message: Message) -> dict[str, Any]:
    read = json.loads(message.content or "")
    assert isinstance(read, dict)
    return read


def test_a_conversation_ends_with_the_first_reply_that_calls_nothing() -> None:
    ended = after(awaiting_model(), asks(list_skills()), finished("1.0"), says("42"))
    assert (ended.answer, ended.status, ended.turn, ended.error) == ("42", "completed", 2, None)
    assert [message.role for message in ended.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert ended.usage == Usage(input_tokens=10, output_tokens=2)


def test_the_calls_of_a_turn_go_out_together_and_the_last_result_asks_the_model() -> None:
    calling = awaiting_calls(list_skills("a"), run_python("b"), list_skills("c"))
    assert [run.key for run in calling.out] == ["1.0", "1.1", "1.2"]
    assert last_effects(calling, finished("1.2")) == []
    assert last_effects(calling, finished("1.2"), finished("1.0")) == []
    assert last_effects(calling, finished("1.2"), finished("1.0"), finished("1.1")) == [CallModel()]


def test_results_stand_in_the_order_of_the_calls_whatever_came_first() -> None:
    calling = awaiting_calls(list_skills("a"), run_python("b"))
    done = after(calling, finished("1.1", "second"), finished("1.0", "first"))
    assert [(m.tool_call_id, m.name, m.content) for m in tool_messages(done)] == [
        ("a", "list_skills", "first"),
        ("b", "run_python_script", "second"),
    ]
    assert [run.status for run in done.runs] == ["succeeded", "succeeded"]
    assert [(run.worker, run.runtime, run.ms, run.shown) for run in done.runs] == [("w1", "process", 1.5, "")] * 2


def test_a_result_without_text_still_answers_its_call() -> None:
    done = after(awaiting_calls(list_skills()), finished("1.0", ""))
    assert [m.content for m in tool_messages(done)] == ['{"status": "succeeded"}']


def test_a_second_result_of_a_call_changes_nothing() -> None:
    one_in = after(awaiting_calls(list_skills("a"), list_skills("b")), finished("1.0", "first"))
    assert step(one_in, finished("1.0", "second"), NOW) == (one_in, [])
    all_in = after(one_in, finished("1.1"))
    assert step(all_in, finished("1.1", "second"), NOW) == (all_in, [])
    next_turn = after(all_in, asks(list_skills("c")))
    assert step(next_turn, finished("1.0", "third"), NOW) == (next_turn, [])


WRONG_CALLS = {
    "unknown_tool": call("rm_rf", path="/"),
    "not JSON": call("get_skill", arguments='{"skill_name": "calc'),
    "not an object": call("get_skill", arguments='["calculator"]'),
    "missing": call("get_skill"),
    "wrong type": call("get_skill", skill_name=["calculator"]),
    "unknown parameter": call("get_skill", skill_name="calculator", skil="x"),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_wrong_call_is_shown_to_the_model_and_the_turn_goes_on(name: str) -> None:
    wrong = WRONG_CALLS[name]
    mixed = awaiting_calls(wrong, list_skills("b"))
    assert [run.key for run in mixed.out] == ["1.1"]
    done, effects = step(mixed, finished("1.1"), NOW)
    assert effects == [CallModel()]
    error = shown(tool_messages(done)[0])
    assert error["error"] in ("unknown_tool", "malformed_arguments")
    assert error["message"] and error["fix"]
    assert done.runs[0].status == "tool_error"


def test_a_turn_of_wrong_calls_asks_the_model_again() -> None:
    wrong = [one.model_copy(update={"id": name}) for name, one in WRONG_CALLS.items()]
    asked, effects = step(awaiting_model(), asks(*wrong), NOW)
    assert effects == [CallModel()]
    assert asked.out == ()
    assert transcript_problem(asked.messages) is None
    assert [message.tool_call_id for message in tool_messages(asked)] == list(WRONG_CALLS)


def test_a_tool_that_was_not_offered_is_not_run() -> None:
    spec = queued().spec
    few = tuple(tool for tool in spec.tools if tool.function.name != "run_python_script")
    conversation = Conversation(spec=spec.model_copy(update={"tools": few}), messages=spec.opening)
    asked = after(conversation, Submitted(), asks(run_python()))
    assert asked.out == ()
    assert "run_python_script" not in shown(tool_messages(asked)[0])["fix"]


def test_an_answer_in_the_last_turn_counts() -> None:
    assert after(awaiting_model(max_turns=1), says("42")).status == "completed"
    two = after(awaiting_calls(list_skills(), max_turns=2), finished("1.0"))
    assert after(two, says("42")).status == "completed"


def test_wrong_calls_alone_reach_the_limit_of_turns_too() -> None:
    conversation = awaiting_model(max_turns=3)
    for turn in range(3):
        conversation = after(conversation, asks(call("rm_rf", str(turn))))
    assert conversation.closing is not None
    assert (conversation.status, conversation.turn, conversation.closing.code) == ("running", 3, "max_turns")


def test_the_deadline_is_named_with_its_option() -> None:
    ended = after(awaiting_model(timeout_s=90), DeadlinePassed(), now=NOW + 90)
    assert ended.error is not None
    assert (ended.status, ended.error.code, ended.finished_at) == ("expired", "timeout", NOW + 90)
    assert "90 s" in ended.error.message and "--timeout" in ended.error.fix


def test_a_failing_model_ends_the_conversation_with_its_problem() -> None:
    ended = after(awaiting_model(), BROKEN)
    assert (ended.status, ended.error) == ("failed", BROKEN.problem)


@pytest.mark.parametrize("end", [CancelRequested(), DeadlinePassed()])
def test_ending_amid_a_turn_answers_every_call_and_stops_those_that_are_out(end: Event) -> None:
    calling = awaiting_calls(list_skills("a"), run_python("b"), call("rm_rf", "c"))
    ended, effects = step(after(calling, finished("1.0", "came in")), end, NOW)
    assert effects[0] == CancelTool("1.1")
    assert len(effects) == 2
    assert transcript_problem(ended.messages) is None
    assert [run.status for run in ended.runs] == ["succeeded", "cancelled", "tool_error"]
    came_in, stopped, refused = tool_messages(ended)
    assert (came_in.content, shown(stopped)) == ("came in", {"status": "cancelled"})
    assert shown(refused)["error"] == "unknown_tool"


def test_ending_between_turns_adds_nothing_to_the_transcript() -> None:
    between = after(awaiting_calls(list_skills()), finished("1.0"))
    assert after(between, CancelRequested()).messages == between.messages


def test_a_cut_off_model_call_is_still_wanted() -> None:
    assert pending(awaiting_model()) == [CallModel()]
    assert pending(after(awaiting_calls(list_skills()), finished("1.0"))) == [CallModel()]


@pytest.mark.parametrize("state", sorted(set(STATES) - {"asking"}))
def test_no_model_call_is_wanted_elsewhere(state: str) -> None:
    assert pending(STATES[state]) == []


def test_what_earlier_steps_wanted_is_void_once_the_conversation_has_ended() -> None:
    (run,) = awaiting_calls(list_skills()).out
    effects: list[Effect] = [CallModel(), RunTool(run), CancelTool("1.0"), Finish("cancelled")]
    assert wanted(STATES["cancelled"], effects) == [CancelTool("1.0"), Finish("cancelled")]
    assert wanted(STATES["calling"], effects) == effects
