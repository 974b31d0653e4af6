"""Going on from a conversation that has ended: continue, retry, fork."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conversation_steps import (
    NOW,
    after,
    asks,
    awaiting_calls,
    awaiting_model,
    call,
    finished,
    list_skills,
    says,
)
from tests.openai_rules import why_refused

from skillfleet.conversations.descent import continued, forked, retried
from skillfleet.conversations.engine import step
from skillfleet.conversations.limits import Problem
from skillfleet.conversations.models import Conversation, ConversationSpec
from skillfleet.conversations.moves import CancelRequested, DeadlinePassed, Event, ModelFailed, Paused, Submitted
from skillfleet.subagents.models import AgentSpec, ChainStep, ChildRun
from skillfleet_workers.wire.contract import ScriptTool
from skillfleet_workers.wire.execution import ScriptExecution
from skillfleet_workers.wire.shown import SHOWN_LIMIT_CHARS, shown_to_model

BROKEN = ModelFailed(Problem(code="model_unavailable", message="It is down."))
EXTRACT = ScriptTool(tool="pdf__extract", script="scripts/extract.py", language="python")


def read_pdf(key: str) -> Conversation:
    """One turn, in which a skill was read."""
    reading = awaiting_calls(call("get_skill", "r", skill_name="pdf"))
    return after(reading, replace(finished(key), tools=(EXTRACT,)))


def two_turns() -> Conversation:
    return after(read_pdf("1.0"), asks(list_skills("b")), finished("2.0"))


def child(found: ConversationSpec | Problem) -> Conversation:
    """As it is accepted; a provider takes what it begins with."""
    assert isinstance(found, ConversationSpec), found
    begun = Conversation.begun(found)
    assert why_refused({"model": "m", "messages": [message.wire() for message in begun.messages]}) is None
    assert (begun.id, begun.status, begun.turn, begun.runs) == ("c2", "queued", 0, ())
    assert begun.spec.parent_id == "c1"
    return begun


def test_what_was_cut_there_is_not_looked_for_among_the_calls_here() -> None:
    shown = shown_to_model(
        ScriptExecution(status="succeeded", stdout="old " * SHOWN_LIMIT_CHARS, returncode=0), "1.0"
    )
    assert "call='1.0'" in shown
    parent = after(awaiting_calls(list_skills("a")), finished("1.0", shown), says("Done."))
    begun = child(continued(parent, "c2", "And now?"))
    (told,) = (message.content or "" for message in begun.messages if message.role == "tool")
    assert "read_output" not in told
    assert json.loads(told)["stdout"].startswith("old old")
    assert "characters left out ...]" in told


def test_a_continuation_has_the_history_the_activated_skills_and_the_limits() -> None:
    limited = awaiting_model(max_turns=7)
    limited = limited.model_copy(update={"spec": limited.spec.model_copy(update={"skills": ("pdf",)})})
    parent = after(
        limited, asks(call("get_skill", "r", skill_name="pdf")), replace(finished("1.0"), tools=(EXTRACT,))
    )
    parent = after(parent, says("Done."))
    begun = child(continued(parent, "c2", "And now?"))
    assert begun.messages[:-1] == parent.messages
    assert (begun.messages[-1].role, begun.messages[-1].content) == ("user", "And now?")
    assert [script.name for script in begun.scripts] == [EXTRACT.tool]
    assert (begun.spec.skills, begun.spec.limits.max_turns) == (("pdf",), 7)


@pytest.mark.parametrize("ending", [CancelRequested(), DeadlinePassed()])
def test_a_continuation_of_one_that_was_cut_in_mid_turn_tells_what_became_of_its_calls(
    ending: CancelRequested,
) -> None:
    parent = after(awaiting_calls(list_skills("a"), list_skills("b")), finished("1.0"), ending)
    begun = child(continued(parent, "c2", "And now?"))
    assert [message.content for message in begun.messages if message.role == "tool"] == [
        "fine", '{"status": "cancelled"}',
    ]  # fmt: skip


def test_a_retry_goes_on_behind_the_last_turn_whose_calls_came_back() -> None:
    failed = after(two_turns(), BROKEN)
    assert child(retried(failed, "c2")).messages == failed.messages
    cut = after(two_turns(), asks(list_skills("c"), list_skills("d")), finished("3.0"), CancelRequested())
    begun = child(retried(cut, "c2"))
    assert begun.messages == two_turns().messages
    assert [script.name for script in begun.scripts] == [EXTRACT.tool]


def test_a_retry_of_one_that_never_got_anywhere_begins_at_its_prompt() -> None:
    cut = after(awaiting_calls(list_skills()), CancelRequested())
    begun = child(retried(cut, "c2"))
    assert begun.messages == cut.spec.opening


def test_a_retry_forgets_the_skills_that_were_read_in_the_turn_that_is_dropped() -> None:
    reading = after(awaiting_calls(call("get_skill", "r", skill_name="pdf"), list_skills("b")))
    cut = after(reading, replace(finished("1.0"), tools=(EXTRACT,)), CancelRequested())
    assert cut.scripts
    assert child(retried(cut, "c2")).scripts == ()


def test_a_fork_keeps_the_turns_up_to_the_one_that_is_named() -> None:
    parent = after(two_turns(), says("Done."))
    begun = child(forked(parent, "c2", 1, "Instead?"))
    assert begun.messages[:-1] == read_pdf("1.0").messages
    assert begun.messages[-1].content == "Instead?"
    assert child(forked(parent, "c2", 3, "More?")).messages[:-1] == parent.messages


def test_the_turns_of_a_child_are_its_own() -> None:
    spec = continued(after(two_turns(), says("Done.")), "c1", "And now?")
    assert isinstance(spec, ConversationSpec)
    begun = after(Conversation.begun(spec), Submitted(), asks(list_skills("x")), finished("1.0"), says("Now."))
    grandchild = child(forked(begun, "c2", 1, "Again?"))
    assert grandchild.messages[:-1] == begun.messages[: len(spec.opening) + 2]
    assert [script.name for script in grandchild.scripts] == [EXTRACT.tool]
    assert forked(begun, "c2", 3, "Again?") == Problem(
        code="no_such_turn", message="c1 has turns 1 to 2, not 3.", fix="Name one with --at."
    )


@pytest.mark.parametrize("turn", [-1, 0, 4])
def test_a_turn_that_there_is_not_is_refused_and_the_turns_are_told(turn: int) -> None:
    found = forked(after(two_turns(), says("Done.")), "c2", turn, "Instead?")
    assert isinstance(found, Problem)
    assert found.message == f"c1 has turns 1 to 3, not {turn}."


GO_ON: dict[str, Callable[[Conversation], ConversationSpec | Problem]] = {
    "continue": lambda parent: continued(parent, "c2", "And now?"),
    "retry": lambda parent: retried(parent, "c2"),
    "fork": lambda parent: forked(parent, "c2", 1, "Instead?"),
}


@pytest.mark.parametrize("verb", GO_ON)
@pytest.mark.parametrize("parent", [two_turns(), after(two_turns(), Paused())], ids=["running", "paused"])
def test_nothing_goes_on_from_what_has_not_ended(verb: str, parent: Conversation) -> None:
    found = GO_ON[verb](parent)
    assert isinstance(found, Problem)
    assert (found.code, parent.status in found.message) == ("not_terminal", True)


def test_what_has_answered_is_not_retried() -> None:
    found = retried(after(two_turns(), says("Done.")), "c2")
    assert isinstance(found, Problem)
    assert found.code == "has_answered"


@pytest.mark.parametrize("verb", GO_ON)
def test_what_goes_on_is_no_subagent_any_more_but_may_have_some(verb: str) -> None:
    parent = after(two_turns(), BROKEN)
    agent = AgentSpec(name="scout")
    own = {"subagents": True, "root": "r", "parent_call": "r.1.0.1", "depth": 2, "agent": agent}
    children = (ChildRun(key="1.0", id="c1-1-0"),)
    parent = parent.model_copy(update={"spec": parent.spec.model_copy(update=own), "children": children})
    begun = child(GO_ON[verb](parent))
    assert (begun.spec.subagents, begun.spec.tools) == (True, parent.spec.tools)
    assert (begun.root, begun.spec.parent_call, begun.spec.depth, begun.spec.agent) == ("c2", "", 0, None)
    assert begun.children == ()


def test_a_chain_is_retried_as_a_chain_and_gone_on_from_by_a_model() -> None:
    chain = AgentSpec(skill="fetch", steps=(ChainStep(skill="navigate", script="go.py"),))
    parent = after(two_turns(), BROKEN)
    parent = parent.model_copy(update={"spec": parent.spec.model_copy(update={"agent": chain})})
    assert child(retried(parent, "c2")).spec.agent == chain
    assert child(continued(parent, "c2", "Why?")).spec.agent is None


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_whenever_the_parent_was_cut_what_is_carried_over_is_a_valid_transcript(data: st.DataObject) -> None:
    parent = awaiting_model()
    for turn in range(1, data.draw(st.integers(1, 4), "turns") + 1):
        count = data.draw(st.integers(1, 3), "calls")
        parent, _ = step(parent, asks(*(list_skills(f"t{turn}.{index}") for index in range(count))), NOW)
        whole = data.draw(st.booleans(), "whole")
        back = count if whole else data.draw(st.integers(0, count - 1), "back")
        parent = after(parent, *(finished(f"{turn}.{index}") for index in range(back)))
        if not whole:
            break
    endings: list[Event] = [CancelRequested(), DeadlinePassed()]
    parent = after(parent, data.draw(st.sampled_from(endings), "ending"))
    child(continued(parent, "c2", "And now?"))
    retrial = child(retried(parent, "c2"))
    assert "cancelled" not in str(retrial.messages)
    for turn in range(1, parent.turn + 1):
        child(forked(parent, "c2", turn, "Instead?"))
