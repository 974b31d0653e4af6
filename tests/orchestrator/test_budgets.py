"""A limit that is reached leaves the model one turn to sum up; then the conversation ends as expired."""

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
    make_spec,
    run_python,
    says,
)
from tests.forked_skills import CONTENT, RESEARCH, activate

from skillfleet.conversations.asking import Asking
from skillfleet.conversations.budgets import LEAST_OUTPUT_TOKENS, MAX_CALLS_A_TURN, calls_made
from skillfleet.conversations.descent import continued, retried
from skillfleet.conversations.engine import step
from skillfleet.conversations.limits import Limits, Problem, Usage
from skillfleet.conversations.messages import Message, transcript_problem
from skillfleet.conversations.models import Conversation, ConversationSpec
from skillfleet.conversations.moves import (
    CallModel,
    CancelTool,
    ChildFinished,
    DeadlinePassed,
    Event,
    Finish,
    ModelFailed,
    ModelReplied,
    StartChild,
    TimeShort,
    ToolFinished,
)
from skillfleet.llm.base import Hear, ModelReply, ModelRequest, deaf
from skillfleet.llm.facts import KnownModels, ModelFacts, Prices
from skillfleet.subagents.fork import outcome

BROKEN = ModelFailed(Problem(code="model_unavailable", message="It is down."))
PRICED = KnownModels({"m": ModelFacts(prices=Prices(input=1.0, output=2.0), max_output=4096)})


class Clock:
    now = NOW


class Answers:
    """One reply, after `seconds`."""

    def __init__(self, clock: Clock, reply: ModelReply | Problem, seconds: float = 0.0) -> None:
        self._clock, self._reply, self._seconds = clock, reply, seconds
        self.request: ModelRequest | None = None

    def reply(self, request: ModelRequest, hear: Hear = deaf) -> ModelReply | Problem:
        self.request = request
        self._clock.now += self._seconds
        return self._reply


def asked(conversation: Conversation, model: Answers, clock: Clock, known: KnownModels | None = None) -> Event:
    return Asking(lambda spec: model, None, lambda: clock.now, known=known).ask(conversation, clock.now)


def costing(event: ModelReplied, cost: float) -> ModelReplied:
    return ModelReplied(event.message, Usage(input_tokens=10, output_tokens=2, cost=cost))


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"max_turns": 1}, "1 turns"),
        ({"max_input_tokens": 10}, "10 input tokens"),
        ({"max_output_tokens": 2}, "2 output tokens"),
        ({"max_cost": 0.5}, "0.5 in cost"),
    ],
)
def test_a_limit_that_is_reached_leaves_a_last_turn(limits: dict[str, Any], said: str) -> None:
    (code,) = limits
    calling = after(awaiting_model(**limits), costing(asks(list_skills()), 0.5))
    summing, effects = step(calling, finished("1.0"), NOW)
    assert (effects, summing.status, summing.error) == ([CallModel()], "running", None)
    last = summing.messages[-1]
    assert last.role == "user" and said in (last.content or "") and "no more tools" in (last.content or "")
    ended, effects = step(summing, says("So far this."), NOW)
    assert effects == [Finish("expired")]
    assert ended.error is not None
    assert (ended.status, ended.answer, ended.turn, ended.error.code) == ("expired", "So far this.", 2, code)
    assert f"--{code.replace('_', '-')}" in ended.error.fix


def test_a_limit_that_the_answer_itself_reaches_is_none() -> None:
    ended = after(awaiting_model(max_output_tokens=1, max_turns=1), costing(says("42"), 1.0))
    assert (ended.status, ended.error) == ("completed", None)


@pytest.mark.parametrize("last", [BROKEN, asks(list_skills("b"), call("rm_rf", "c")), DeadlinePassed()])
def test_whatever_goes_wrong_in_the_last_turn_it_ends_with_the_limit(last: Event) -> None:
    summing = after(awaiting_calls(list_skills(), max_turns=1), finished("1.0"))
    ended, effects = step(summing, last, NOW)
    assert effects == [Finish("expired")]
    assert ended.error is not None
    assert (ended.status, ended.answer, ended.error.code) == ("expired", None, "max_turns")
    assert transcript_problem(ended.messages) is None


def test_what_a_model_says_beside_its_calls_in_the_last_turn_is_its_answer() -> None:
    summing = after(awaiting_calls(list_skills(), max_turns=1), finished("1.0"))
    said = ModelReplied(Message(role="assistant", content="So far this.", tool_calls=(list_skills("b"),)))
    assert after(summing, said).answer == "So far this."


def test_calls_within_the_budget_are_made_and_the_others_are_answered() -> None:
    calling = awaiting_calls(
        call("rm_rf", "x"), list_skills("a"), run_python("b"), list_skills("c"), max_tool_calls=2
    )
    assert [run.key for run in calling.out] == ["1.1", "1.2"]
    summing = after(calling, finished("1.1"), finished("1.2"))
    assert summing.closing is not None and summing.closing.code == "max_tool_calls"
    assert (calls_made(summing), transcript_problem(summing.messages)) == (2, None)
    assert json.loads(summing.messages[-2].content or "")["error"] == "max_tool_calls"


def test_exactly_as_many_calls_as_there_may_be_leave_time_for_an_answer() -> None:
    assert after(awaiting_calls(list_skills(), max_tool_calls=1), finished("1.0"), says("42")).status == "completed"


def test_a_turn_has_only_so_many_calls() -> None:
    many = [run_python(f"id{number}") for number in range(MAX_CALLS_A_TURN + 2)]
    calling = awaiting_calls(*many)
    assert (len(calling.out), [run.refused for run in calling.runs[-2:]]) == (
        MAX_CALLS_A_TURN,
        ["too_many_calls"] * 2,
    )


def test_when_time_runs_short_what_is_out_is_stopped_and_the_model_sums_up() -> None:
    calling = awaiting_calls(list_skills("a"), run_python("b"), timeout_s=100)
    assert (calling.closes_at, calling.deadline) == (NOW + 80, NOW + 100)
    summing, effects = step(after(calling, finished("1.0", "came in")), TimeShort(), NOW + 80)
    assert effects == [CancelTool("1.1"), CallModel()]
    assert [run.status for run in summing.runs] == ["succeeded", "cancelled"]
    came_in, stopped, told = summing.messages[-3:]
    assert (came_in.content, json.loads(stopped.content or "")["error"], told.role) == (
        "came in",
        "cancelled",
        "user",
    )
    assert summing.closes_at == summing.deadline
    assert step(summing, TimeShort(), NOW + 81) == (summing, [])
    ended = after(summing, says("So far this."), now=NOW + 90)
    assert ended.error is not None
    assert (ended.status, ended.answer, ended.error.code) == ("expired", "So far this.", "timeout")


@pytest.mark.parametrize(("timeout_s", "reserve_s"), [(0.1, 0), (4.9, 0), (5, 1), (100, 20), (900, 30)])
def test_the_last_turn_has_a_share_of_the_time_where_there_is_enough(timeout_s: float, reserve_s: float) -> None:
    assert Limits(timeout_s=timeout_s).reserve_s == pytest.approx(reserve_s)


def test_a_model_that_thinks_into_the_reserve_is_cut_and_asked_to_sum_up() -> None:
    clock, slow = Clock(), Problem(code="model_timeout", message="slow")
    model = Answers(clock, slow, seconds=80)
    conversation = awaiting_model(timeout_s=100)
    assert asked(conversation, model, clock) == TimeShort()
    assert model.request is not None and (model.request.timeout_s, model.request.may_call) == (80, True)
    summing = after(conversation, TimeShort(), now=clock.now)
    again = Answers(clock, slow, seconds=20)
    assert asked(summing, again, clock) == DeadlinePassed()
    assert again.request is not None and (again.request.timeout_s, again.request.may_call) == (20, False)


def test_a_reply_that_comes_into_the_reserve_counts() -> None:
    clock = Clock()
    late = Answers(clock, ModelReply(Message(role="assistant", content="42")), seconds=90)
    assert isinstance(asked(awaiting_model(timeout_s=100), late, clock), ModelReplied)


def with_model(conversation: Conversation) -> Conversation:
    return conversation.model_copy(update={"spec": conversation.spec.model_copy(update={"model": "m"})})


def test_a_reply_costs_what_its_model_does() -> None:
    clock = Clock()
    reply = ModelReply(Message(role="assistant", content="42"), Usage(input_tokens=1_000_000, output_tokens=500_000))
    event = asked(with_model(awaiting_model(max_cost=5)), Answers(clock, reply), clock, PRICED)
    assert isinstance(event, ModelReplied) and event.usage.cost == pytest.approx(2.0)


def test_what_nobody_knows_the_prices_of_is_not_asked_where_the_cost_is_limited() -> None:
    clock = Clock()
    event = asked(with_model(awaiting_model(max_cost=5)), Answers(clock, BROKEN.problem), clock, KnownModels())
    assert isinstance(event, ModelFailed)
    assert event.problem.code == "model_without_prices" and "SKILLFLEET_MODELS_FILE" in event.problem.fix


@pytest.mark.parametrize(("most", "told"), [(None, None), (3000, 2998), (20, LEAST_OUTPUT_TOKENS), (1_000_000, None)])
def test_a_reply_may_be_as_long_as_what_is_left_allows(most: int | None, told: int | None) -> None:
    clock, model = Clock(), Answers(Clock(), BROKEN.problem)
    conversation = after(with_model(awaiting_model(max_output_tokens=most)), asks(list_skills()), finished("1.0"))
    asked(conversation, model, clock, PRICED)
    assert model.request is not None and model.request.max_output_tokens == told


def forking(**limits: Any) -> Conversation:
    return after(awaiting_model(**limits), costing(asks(activate(), activate("b"), list_skills("c")), 1.0))


def forked(key: str) -> ToolFinished:
    return ToolFinished(key, "succeeded", CONTENT, "w1", governing=RESEARCH)


def child_of(parent: Conversation, key: str) -> ConversationSpec:
    (start,) = last_effects(parent, forked(key))
    assert isinstance(start, StartChild)
    return start.spec


def test_children_share_what_is_left_however_far_the_others_have_come() -> None:
    parent = forking(max_cost=5.0, max_tool_calls=9, max_output_tokens=12, max_input_tokens=100, max_turns=7)
    limits = child_of(parent, "1.0").limits
    assert (limits.max_cost, limits.max_tool_calls, limits.max_turns) == (2.0, 3, 7)
    assert (limits.max_output_tokens, limits.max_input_tokens) == (5, 45)
    used = ChildFinished("1.0", "succeeded", "found", usage=Usage(output_tokens=4, cost=1.5), calls=2)
    one_in = after(parent, forked("1.0"), used)
    assert (one_in.usage.cost, one_in.usage.output_tokens, calls_made(one_in)) == (2.5, 6, 5)
    assert child_of(one_in, "1.1").limits == limits


def test_a_child_tells_its_parent_what_it_has_used() -> None:
    child = Conversation.begun(make_spec("c1-1-0"))
    used = child.model_copy(
        update={"usage": Usage(input_tokens=3, cost=0.5), "status": "completed", "answer": "bees"}
    )
    assert (outcome(used).usage, outcome(used).calls) == ({"input_tokens": 3, "cost": 0.5}, 0)


def test_where_too_little_is_left_no_child_begins() -> None:
    parent = forking(max_output_tokens=3)
    moved, effects = step(parent, forked("1.0"), NOW)
    assert effects == []
    assert (moved.runs[0].status, moved.runs[0].refused) == ("tool_error", "no_budget_left")


def test_who_goes_on_from_an_expired_one_may_call_tools_again() -> None:
    summing = after(awaiting_calls(list_skills(), max_turns=1), finished("1.0"))
    for ended in (after(summing, says("So far this.")), after(summing, BROKEN)):
        again, more = retried(ended, "c2"), continued(ended, "c3", "And now?")
        assert isinstance(again, ConversationSpec) and isinstance(more, ConversationSpec)
        assert again.opening == summing.messages[:-1]
        assert summing.messages[-1] not in more.opening
        assert transcript_problem(more.opening) is None
