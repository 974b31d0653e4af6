"""A conversation whose calls wait for a person, step by step."""

import json
from typing import Any

import pytest
from tests.conversation_steps import (
    NOW,
    after,
    asks,
    awaiting_model,
    call,
    finished,
    last_effects,
    list_skills,
    make_spec,
    says,
)
from tests.conversation_steps import run_python as python_call
from tests.forked_skills import CONTENT, RESEARCH, activate

from skillfleet.conversations.descent import retried
from skillfleet.conversations.engine import step
from skillfleet.conversations.messages import transcript_problem
from skillfleet.conversations.models import Conversation, ConversationSpec, Rule
from skillfleet.conversations.moves import (
    CallModel,
    CancelRequested,
    CancelTool,
    DeadlinePassed,
    Decided,
    Finish,
    Paused,
    Resumed,
    RunTool,
    StartChild,
    Submitted,
    ToolFinished,
)
from skillfleet.conversations.runs import Decision
from skillfleet.events import changes
from skillfleet.llm.prompts import opening
from skillfleet.subagents.fork import may_ask
from skillfleet.submission import Submission

WAIT_S = 500.0
APPROVED, DENIED = Decision(verdict="approved"), Decision(verdict="denied", text="Too dear.")
ANSWERED = Decision(verdict="answered", text="Blue.")


FORKED = ToolFinished("1.0", "succeeded", CONTENT, "w1", governing=RESEARCH)


def waiting(**limits: Any) -> Conversation:
    """Its first call waits for leave, its second runs."""
    begun = awaiting_model(**limits, wait_s=WAIT_S)
    spec = begun.spec.model_copy(update={"rules": (Rule(verdict="ask", tool="run_python_script"),)})
    return after(begun.model_copy(update={"spec": spec}), asks(python_call("a"), list_skills("b")))


def asking() -> Conversation:
    spec = Submission.of({"prompt": "Paint it.", "ask_user": True}).spec()
    begun = awaiting_model()
    conversation = begun.model_copy(update={"spec": spec, "messages": spec.opening})
    return after(conversation, asks(call("ask_user", question="Which colour?")))


def tool_texts(conversation: Conversation) -> list[str]:
    return [message.content or "" for message in conversation.messages if message.role == "tool"]


def test_only_the_call_that_needs_no_leave_is_sent() -> None:
    begun = awaiting_model()
    spec = begun.spec.model_copy(update={"rules": (Rule(verdict="ask", tool="run_python_script"),)})
    moved, effects = step(begun.model_copy(update={"spec": spec}), asks(python_call("a"), list_skills("b")), NOW)
    assert [effect.run.key for effect in effects if isinstance(effect, RunTool)] == ["1.1"]
    assert moved.status == "waiting"
    told = dict(changes(begun, moved, effects))
    assert json.loads(told["asked"]) == {
        "key": "1.0",
        "kind": "approval",
        "name": "run_python_script",
        "skill": "calculator",
        "arguments": {"skill_name": "calculator", "script": "print(6 * 7)"},
    }


def test_an_approved_call_is_sent_and_the_conversation_runs_again() -> None:
    effects = last_effects(waiting(), Decided("1.0", APPROVED))
    assert [effect.run.key for effect in effects if isinstance(effect, RunTool)] == ["1.0"]
    moved = after(waiting(), Decided("1.0", APPROVED))
    assert (moved.status, [run.key for run in moved.with_workers]) == ("running", ["1.0", "1.1"])


def test_a_denial_and_its_reason_are_told_the_model_once_all_calls_are_in() -> None:
    moved, effects = step(after(waiting(), finished("1.1")), Decided("1.0", DENIED), NOW)
    assert effects == [CallModel()]
    denied, _ = tool_texts(moved)
    assert json.loads(denied)["error"] == "denied_by_person"
    assert "Too dear." in denied
    assert transcript_problem(moved.messages) is None


def test_an_answer_is_the_tool_message_as_it_was_typed() -> None:
    assert asking().status == "waiting"
    moved, effects = step(asking(), Decided("1.0", ANSWERED), NOW)
    assert (tool_texts(moved), moved.status, effects) == (["Blue."], "running", [CallModel()])


def test_the_second_word_on_a_call_and_one_on_any_other_change_nothing() -> None:
    approved = after(waiting(), Decided("1.0", APPROVED))
    for late in (Decided("1.0", DENIED), Decided("1.1", DENIED), Decided("9.9", DENIED)):
        assert step(approved, late, NOW) == (approved, [])


def test_the_time_of_the_wait_is_given_back() -> None:
    moved = after(waiting(timeout_s=60), Decided("1.0", APPROVED), now=NOW + 300)
    assert (moved.waited_s, moved.deadline) == (300, NOW + 60 + 300)


def test_a_pause_within_the_wait_is_given_back_once() -> None:
    paused = after(waiting(timeout_s=60), Paused(), now=NOW + 100)
    resumed = after(paused.model_copy(update={"paused_s": 50.0}), Resumed(), now=NOW + 150)
    assert (resumed.status, resumed.deadline) == ("waiting", NOW + WAIT_S + 50)
    moved = after(resumed, Decided("1.0", APPROVED), now=NOW + 200)
    assert (moved.waited_s, moved.deadline) == (150, NOW + 60 + 150 + 50)


def test_what_is_said_while_it_is_paused_is_kept_for_later() -> None:
    paused = after(waiting(), Paused())
    assert step(paused, Decided("1.0", APPROVED), NOW) == (paused, [])
    assert step(paused, Resumed(), NOW)[0].status == "waiting"


def test_where_nobody_answers_what_waited_for_nobody_is_told_so() -> None:
    closing = after(waiting(), DeadlinePassed(), now=NOW + WAIT_S)
    assert [json.loads(text)["error"] for text in tool_texts(closing)] == ["no_answer_from_person", "cancelled"]


def test_where_nobody_answers_the_model_has_its_last_word_and_it_ends_as_expired() -> None:
    closing, effects = step(waiting(timeout_s=60), DeadlinePassed(), NOW + WAIT_S)
    assert (closing.status, closing.deadline) == ("running", NOW + 60 + WAIT_S)
    assert effects == [CancelTool("1.0"), CancelTool("1.1"), CallModel()]
    ended, effects = step(closing, says("Nobody let me."), NOW + WAIT_S + 1)
    assert (ended.status, ended.error and ended.error.code) == ("expired", "no_answer_from_person")
    assert (ended.answer, effects) == ("Nobody let me.", [Finish("expired")])
    assert "--person-timeout" in (ended.error.fix if ended.error else "")
    assert transcript_problem(ended.messages) is None


def test_a_turn_that_was_cancelled_while_it_waited_is_asked_for_again() -> None:
    ended = after(waiting(), CancelRequested())
    assert [run.status for run in ended.runs] == ["cancelled", "cancelled"]
    again = retried(ended, "c2")
    assert isinstance(again, ConversationSpec)
    assert (len(again.opening), again.rules) == (2, ended.spec.rules)


@pytest.mark.parametrize("may", [True, False])
def test_a_model_is_told_whether_it_may_ask(may: bool) -> None:
    spec = Submission.of({"prompt": "Paint it.", "ask_user": may}).spec()
    assert may_ask(spec) == may
    assert ("ask_user" in (spec.opening[0].content or "")) == may
    assert ("Nobody can answer" in (spec.opening[0].content or "")) != may
    assert spec.opening == opening("Paint it.", may_ask=may)


def test_a_child_has_no_more_of_its_parent_s_time_for_what_that_waits_for_a_person() -> None:
    spec = make_spec(created_at=NOW, timeout_s=100).model_copy(
        update={"rules": (Rule(verdict="ask", tool="list_skills"),)}
    )
    begun = after(Conversation.begun(spec), Submitted())
    parent = after(begun, asks(activate(), list_skills("b")), now=NOW + 30)
    assert parent.status == "waiting"
    (start,) = last_effects(parent, FORKED, now=NOW + 40)
    assert isinstance(start, StartChild)
    approved = after(parent, Decided("1.1", Decision(verdict="approved")), now=NOW + 40)
    assert start.spec.limits.timeout_s == approved.closes_at - (NOW + 40)
