"""A model that makes the same call again and again is told, and then stopped."""

import json
from dataclasses import replace

import pytest
from tests.conversation_steps import after, asks, awaiting_model, call, finished, list_skills, says

from skillfleet.conversations.messages import ToolCall, transcript_problem
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.repetition import MAX_REFUSED_TURNS, SAME_RESULTS
from skillfleet_workers.wire.execution import Artifact


def made(conversation: Conversation, *calls: ToolCall, shown: str = "fine") -> Conversation:
    """One turn, in which every call that is made brings this."""
    conversation = after(conversation, asks(*calls))
    return after(conversation, *(finished(run.key, shown) for run in conversation.out))


def repeating(times: int) -> Conversation:
    conversation = awaiting_model()
    for turn in range(times):
        spaced = ' {"skill_name" :  "pdf"}' if turn % 2 else '{"skill_name":"pdf"}'
        conversation = made(conversation, call("get_skill", f"id{turn}", spaced))
    return conversation


def refused(conversation: Conversation) -> list[str]:
    return [run.refused for run in conversation.runs if run.ref.turn == conversation.turn]


def test_a_call_that_brings_the_same_again_and_again_is_not_made_again() -> None:
    assert refused(repeating(SAME_RESULTS)) == [""]
    told = repeating(SAME_RESULTS + 1)
    assert refused(told) == ["repeated_call"]
    assert json.loads(told.messages[-1].content or "")["error"] == "repeated_call"
    assert told.closing is None


def test_who_repeats_it_all_the_same_has_a_last_turn() -> None:
    assert repeating(SAME_RESULTS + MAX_REFUSED_TURNS - 1).closing is None
    stopped = repeating(SAME_RESULTS + MAX_REFUSED_TURNS)
    assert stopped.closing is not None and stopped.closing.code == "repeated_calls"
    ended = after(stopped, says("I am stuck."))
    assert ended.error is not None
    assert (ended.status, ended.answer, ended.error.code) == ("expired", "I am stuck.", "repeated_calls")
    assert transcript_problem(ended.messages) is None


def test_a_call_whose_result_changes_is_made_as_often_as_it_is_wanted() -> None:
    conversation = awaiting_model()
    for turn in range(12):
        conversation = made(conversation, list_skills(f"id{turn}"), shown=f"{turn // (SAME_RESULTS - 1)} of 6")
        assert refused(conversation) == [""]


def test_a_call_whose_image_changes_is_made_as_often_as_it_is_wanted() -> None:
    conversation = awaiting_model()
    for turn in range(SAME_RESULTS + 1):
        conversation = after(conversation, asks(list_skills(f"id{turn}")))
        assert refused(conversation) == [""]
        chart = Artifact(path="chart.png", bytes=5, media_type="image/png", digest=f"{turn:064d}")
        conversation = after(conversation, replace(finished(f"{turn + 1}.0"), artifacts=(chart,)))


def test_a_turn_without_it_lets_it_be_made_again() -> None:
    conversation = made(repeating(SAME_RESULTS), call("list_skills", "x"))
    assert refused(made(conversation, call("get_skill", "y", skill_name="pdf"))) == [""]


def test_who_calls_something_else_besides_is_told_and_not_stopped() -> None:
    conversation = awaiting_model()
    for turn in range(SAME_RESULTS + MAX_REFUSED_TURNS + 2):
        other = call("get_skill", f"b{turn}", skill_name=f"skill-{turn}")
        conversation = made(conversation, list_skills(f"a{turn}"), other)
    assert refused(conversation) == ["repeated_call", ""]
    assert conversation.closing is None


@pytest.mark.parametrize("arguments", ["{malformed", '{"a": 1}'])
def test_a_wrong_call_is_a_repeated_one_too(arguments: str) -> None:
    conversation = awaiting_model()
    for turn in range(SAME_RESULTS + 1):
        conversation = made(conversation, call("get_skill", f"id{turn}", arguments))
    assert refused(conversation) == ["repeated_call"]
