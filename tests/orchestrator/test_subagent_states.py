"""The states of subagents over the statuses of conversations: one table, and no other moves."""

from collections.abc import Callable
from typing import get_args

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from tests.conversation_steps import NOW, asks, call, finished, list_skills, queued, run_python, says

from skillfleet.conversations.engine import step
from skillfleet.conversations.limits import Problem
from skillfleet.conversations.messages import ToolCall
from skillfleet.conversations.models import TERMINAL, Conversation, Status
from skillfleet.conversations.moves import (
    CancelRequested,
    DeadlinePassed,
    Decided,
    Event,
    ModelFailed,
    Paused,
    Resumed,
    Submitted,
    TimeShort,
    ToolLost,
)
from skillfleet.conversations.runs import Decision
from skillfleet.subagents.models import AgentState
from skillfleet.subagents.transitions import TRANSITIONS, refusal, state_of
from skillfleet.subagents.view import agent_state
from skillfleet.tools.definitions import definition
from skillfleet.tools.own import ASK_USER

IDLE, RUNNING, PAUSED, COMPLETED, FAILED = AgentState

SEED = {
    (IDLE, RUNNING),
    (RUNNING, PAUSED),
    (PAUSED, RUNNING),
    (RUNNING, COMPLETED),
    (RUNNING, FAILED),
    (IDLE, FAILED),
}


def test_the_table_is_the_seed_s_with_what_is_cancelled_while_it_is_paused() -> None:
    assert {(one, other) for one, others in TRANSITIONS.items() for other in others} == {*SEED, (PAUSED, FAILED)}
    assert set(TRANSITIONS) == set(AgentState)


def test_every_status_has_a_state_and_what_has_ended_one_that_nothing_follows() -> None:
    states = {status: state_of(status) for status in get_args(Status)}
    assert set(states.values()) == set(AgentState)
    assert {status for status, state in states.items() if not TRANSITIONS[state]} == TERMINAL
    assert [status for status, state in states.items() if state == COMPLETED] == ["completed"]


def test_what_is_paused_before_it_began_is_idle() -> None:
    assert (state_of("paused", started=False), state_of("paused")) == (IDLE, PAUSED)


@pytest.mark.parametrize("state", AgentState)
def test_a_wrong_transition_is_refused_with_those_that_are_allowed(state: AgentState) -> None:
    allowed = {wanted for wanted in AgentState if refusal(state, wanted) is None}
    assert allowed == TRANSITIONS[state]
    for wanted in set(AgentState) - allowed:
        told = refusal(state, wanted) or ""
        assert f"it is {state}" in told
        assert all(one in told for one in allowed)
        assert allowed or "has ended" in told


class Lives(RuleBasedStateMachine):
    """The real engine, told whatever may happen in any order."""

    def __init__(self) -> None:
        super().__init__()
        begun = queued(max_turns=4, max_tool_calls=6)
        spec = begun.spec.model_copy(update={"tools": (*begun.spec.tools, definition(ASK_USER))})
        self.now: Conversation = begun.model_copy(update={"spec": spec})
        self.ids = 0

    def happens(self, event: Event) -> None:
        before = self.now
        self.now, _ = step(before, event, NOW, 2)
        was, became = agent_state(before), agent_state(self.now)
        assert became == was or refusal(was, became) is None, (before.status, event, self.now.status)

    @rule()
    def begins(self) -> None:
        self.happens(Submitted())

    @rule(kinds=st.lists(st.sampled_from(["list", "run", "ask", "none"]), min_size=1, max_size=3))
    def calls_tools(self, kinds: list[str]) -> None:
        makes: dict[str, Callable[[str], ToolCall]] = {
            "list": list_skills,
            "run": run_python,
            "ask": lambda name: call("ask_user", name, question="Which?"),
            "none": lambda name: call("rm_rf", name),
        }
        self.ids += len(kinds)
        self.happens(asks(*(makes[kind](f"id{self.ids + place}") for place, kind in enumerate(kinds))))

    @precondition(lambda self: self.now.out)
    @rule(data=st.data(), lost=st.booleans())
    def a_call_comes_back(self, data: st.DataObject, lost: bool) -> None:
        key = data.draw(st.sampled_from([run.key for run in self.now.out]))
        self.happens(ToolLost(key) if lost else finished(key))

    @precondition(lambda self: self.now.with_persons)
    @rule()
    def a_person_answers(self) -> None:
        self.happens(Decided(self.now.with_persons[0].key, Decision(verdict="answered", text="Red.")))

    @rule(
        event=st.sampled_from(
            [Paused(), Resumed(), TimeShort(), says("42"), ModelFailed(Problem(code="x", message="y"))]
        )
    )
    def something_else_happens(self, event: Event) -> None:
        self.happens(event)

    @rule(event=st.sampled_from([CancelRequested(), DeadlinePassed()]))
    def it_is_ended(self, event: Event) -> None:
        self.happens(event)

    @invariant()
    def it_has_begun_exactly_when_it_was_no_longer_idle(self) -> None:
        ended_idle = self.now.terminal and self.now.started_at is None
        assert (self.now.started_at is None) == (agent_state(self.now) == IDLE or ended_idle)


def test_every_change_of_state_that_the_engine_makes_stands_in_the_table() -> None:
    run_state_machine_as_test(Lives, settings=settings(max_examples=150, stateful_step_count=25, deadline=None))
