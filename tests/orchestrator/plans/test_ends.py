"""How plans end that are cut short, late, or judged by rules: one verdict, told the same everywhere."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.conversation_steps import NOW, finished
from tests.orchestrator.plans.machine import executing, plan_json
from tests.orchestrator.plans.oracle import Tool

from skillfleet.conversations.asking import Asking
from skillfleet.conversations.engine import step
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import (
    CallModel,
    CancelRequested,
    DeadlinePassed,
    Event,
    Paused,
    Resumed,
    Submitted,
    TimeShort,
    ToolLost,
)
from skillfleet.conversations.plan_runs import kept_under, quotes_of
from skillfleet.conversations.plan_turns import no_kept, plan_turn, result_of
from skillfleet.llm.scripted import ScriptedModel
from skillfleet.plans.checking import read_plan
from skillfleet.plans.models import ExecutionResult, FailureReason, PlanJson
from skillfleet.tools.permission import read_rules

TWO = (Tool("a", overlaps=True), Tool("b", overlaps=True, required=False))


def planned(tools: Sequence[Tool], timeout_s: float = 60.0) -> Conversation:
    plan = read_plan(plan_json(tools, parallel=True))
    assert isinstance(plan, PlanJson), plan
    return executing(plan, timeout_s)


def told(conversation: Conversation, *events: Event, now: float = NOW) -> Conversation:
    """With what it says itself, wherever it would say something."""
    for event in events:
        conversation, effects = step(conversation, event, now)
        while any(isinstance(effect, CallModel) for effect in effects):
            assert conversation.spec.plan
            turn = plan_turn(conversation, conversation.spec.plan, None, no_kept, now)
            conversation, effects = step(conversation, turn, now)
    return conversation


def result(conversation: Conversation) -> ExecutionResult:
    assert conversation.spec.plan
    return result_of(conversation, conversation.spec.plan, None, no_kept, NOW)


def test_when_its_time_is_over_a_plan_has_succeeded_whose_required_tools_have() -> None:
    late = told(planned(TWO), Submitted(), finished("1.0"), TimeShort())
    found = result(late)
    assert (late.status, found.success, found.failure_reason) == ("completed", True, None)
    assert {one.tool_id: one.state for one in found.execution_trace} == {"a": "completed", "b": "timeout"}


def test_when_its_time_is_over_before_a_required_tool_is_done_it_has_expired() -> None:
    late = told(planned(TWO), Submitted(), finished("1.1"), TimeShort())
    found = result(late)
    assert (late.status, found.success, found.failure_reason) == ("expired", False, FailureReason.TIMEOUT)
    assert found.can_replan


def test_a_plan_whose_deadline_has_passed_unseen_was_too_late_and_not_cancelled() -> None:
    found = result(told(planned(TWO), Submitted(), finished("1.0"), DeadlinePassed()))
    assert (found.success, found.failure_reason) == (False, FailureReason.TIMEOUT)
    assert {one.tool_id: one.state for one in found.execution_trace} == {"a": "completed", "b": "timeout"}


def test_a_plan_of_optional_tools_has_no_success_before_its_end_nor_when_it_was_cancelled() -> None:
    optional = planned([Tool("a", required=False)])
    running = told(optional, Submitted())
    cancelled = told(running, CancelRequested())
    done = told(running, finished("1.0"))
    assert [result(one).success for one in (optional, running, cancelled, done)] == [False, False, False, True]
    assert not any(result(one).can_replan for one in (optional, running, cancelled, done))


def test_a_pause_before_it_began_gives_a_plan_no_more_time() -> None:
    waits = told(planned(TWO), Paused())
    began = NOW + 3600
    going_on = told(waits.model_copy(update={"paused_s": 3600.0}), Resumed(), now=began)
    assert (going_on.status, going_on.closes_at) == ("running", began + 60)
    assert going_on.model_copy(update={"paused_s": 3610.0}).closes_at == began + 70


def test_a_result_of_an_attempt_that_was_given_up_is_looked_up_where_that_has_left_it() -> None:
    calling = told(planned([Tool("a"), Tool("b", needs=("a",))]), Submitted())
    again = told(calling, ToolLost("1.0", "idempotent"))
    assert [run.ref.attempt for run in again.runs][:1] == [2]
    came_back = told(again, replace(finished("1.0"), attempt=1))
    assert came_back.spec.plan
    (quote,) = quotes_of(came_back, came_back.spec.plan, came_back.runs[1])
    assert (quote.task_id, kept_under(came_back)) == ("c1.1.0.1", {"1.0": "c1.1.0.1"})


@pytest.mark.parametrize(("rule", "status", "asks"), [("deny", "tool_error", ""), ("ask", None, "approval")])
def test_the_operators_rules_hold_for_the_tools_of_a_plan(rule: str, status: str | None, asks: str) -> None:
    queued = planned([Tool("a")])
    asking = Asking(lambda spec: ScriptedModel(()), rules=read_rules(f"{rule}:*@skill-0"))
    begun, _ = step(queued, Submitted(), NOW)
    moved, _ = step(begun, asking.ask(begun, NOW), NOW)
    assert [(run.status, run.asks) for run in moved.runs] == [(status, asks)]
