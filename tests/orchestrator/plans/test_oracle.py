"""Random plans through the real engine, held against what brute force says."""

from random import Random
from typing import get_args

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.orchestrator.plans.machine import Machine, executing, plan_json
from tests.orchestrator.plans.oracle import Outcome, Tool, verdict

from skillfleet.conversations.moves import CancelRequested, Paused, Resumed, TimeShort, ToolFinished
from skillfleet.plans.checking import read_plan
from skillfleet.plans.models import ErrorType, ExecutionResult, PlanJson

OUTCOMES = get_args(Outcome)
MOST_TOOLS = 200


def patch_of(random: Random) -> dict[str, object]:
    """Few names, so that patches meet."""
    value = random.choice([None, random.randrange(9), {}, {"x": None}, {"x": {"y": random.randrange(9)}}, [1, None]])
    return {random.choice("abc"): value}


def random_tools(count: int, random: Random, trouble: float) -> list[Tool]:
    """In a random order: what a tool needs may stand after it."""
    density = random.choice((0.5, 1.0, 2.0, 4.0))
    tools = []
    for index in range(count):
        needs = random.sample(range(index), min(index, int(random.expovariate(1 / density))))
        times = random.randrange(1, 6) if random.random() < trouble else 0
        bad = [random.choice(OUTCOMES[1:]) for _ in range(times)]
        tool = Tool(
            name=f"t{index}",
            needs=tuple(f"t{one}" for one in needs),
            required=random.random() < 0.6,
            overlaps=random.random() < 0.7,
            retries=random.randrange(4),
            backoff_ms=random.choice((0, 10, 1000)),
            outcomes=tuple(bad),
            patches=tuple(patch_of(random) for _ in range(random.randrange(3))),
        )
        tools.append(tool)
    random.shuffle(tools)
    return tools


@st.composite
def machines(draw: st.DrawFn, most: int = MOST_TOOLS) -> tuple[Machine, bool]:
    random = Random(draw(st.integers(0, 2**32)))  # drawn one by one, the choices of 200 tools take a second
    tools = random_tools(draw(st.integers(1, most)), random, draw(st.sampled_from([0.0, 0.1, 0.5])))
    parallel = draw(st.booleans())
    plan = read_plan(plan_json(tools, parallel=parallel))
    assert isinstance(plan, PlanJson), plan
    return Machine(tools, executing(plan), random, cap=draw(st.integers(1, 20))), parallel


@settings(max_examples=150, deadline=None)
@given(machines())
def test_a_plan_comes_to_what_brute_force_says_whatever_the_timing(drawn: tuple[Machine, bool]) -> None:
    machine, parallel = drawn
    result, right = machine.to_the_end(), verdict(machine.tools)
    assert machine.conversation.terminal
    assert {one.tool_id: str(one.state) for one in result.execution_trace} == right.states
    assert {one.tool_id: one.retry_count for one in result.execution_trace} == right.retries
    assert (result.success, list(result.failed_tools)) == (right.success, right.failed)
    assert result.failure_reason == (None if right.success else right.reason)
    assert result.final_state == right.state
    assert machine.conversation.status == ("completed" if right.success else "failed")
    check_errors(result)
    check_order(machine, parallel)


@settings(max_examples=60, deadline=None)
@given(machines(most=60), st.integers(0, 200), st.sampled_from([CancelRequested(), TimeShort()]))
def test_a_plan_that_is_stopped_starts_nothing_more_and_tells_how_far_it_came(
    drawn: tuple[Machine, bool], steps: int, stop: CancelRequested | TimeShort
) -> None:
    machine, parallel = drawn
    machine.begin()
    for _ in range(steps):
        machine.advance()
    was_over, begun = machine.conversation.terminal, dict(machine.starts)
    going_on = {machine.tools[run.ref.index].name for run in machine.conversation.out} & begun.keys()
    machine.tell(stop)
    while machine.advance():
        pass
    assert machine.conversation.terminal and machine.starts == begun
    check_order(machine, parallel)
    if was_over:
        return
    result = machine.result()
    timed_out = isinstance(stop, TimeShort)
    states = {one.tool_id: one.state for one in result.execution_trace}
    enough = all(states[tool.name] == "completed" for tool in machine.tools if tool.required)
    assert machine.conversation.status == ("cancelled" if not timed_out else "completed" if enough else "expired")
    assert result.success == (timed_out and enough)
    for one in result.execution_trace:
        if one.tool_id not in begun:
            assert one.state in ("pending", "skipped")
        assert one.state not in ("running",)
        if one.tool_id in going_on:
            assert one.state == ("timeout" if timed_out else "failed")
    if timed_out and not result.success:
        assert result.failure_reason == "timeout"


@settings(max_examples=60, deadline=None)
@given(machines(most=40), st.lists(st.integers(1, 10), max_size=6))
def test_pauses_change_nothing_of_what_a_plan_comes_to(drawn: tuple[Machine, bool], pauses: list[int]) -> None:
    machine, parallel = drawn
    machine.begin()
    for steps in pauses:
        for _ in range(steps):
            machine.advance()
        if machine.conversation.terminal:
            break
        machine.tell(Paused())
        begun = dict(machine.starts)
        if isinstance(machine.next_event(), ToolFinished):  # of the others a later look would tell again
            machine.advance()
        assert machine.starts == begun
        machine.tell(Resumed())
    while machine.advance():
        pass
    right = verdict(machine.tools)
    assert {one.tool_id: str(one.state) for one in machine.result().execution_trace} == right.states
    assert machine.result().final_state == right.state
    check_order(machine, parallel)


def check_errors(result: ExecutionResult) -> None:
    for one in result.execution_trace:
        kind = one.error.type if one.error else None
        match str(one.state):
            case "completed":
                assert one.ok and kind is None
            case "skipped":
                assert kind is ErrorType.DEPENDENCY_FAILED
            case "timeout":
                assert kind is ErrorType.TIMEOUT
            case state:
                assert state == "failed"
                assert kind in (ErrorType.TOOL_EXECUTION_FAILED, ErrorType.PROTOCOL_VIOLATION)


def check_order(machine: Machine, parallel: bool) -> None:
    """No tool before those that it needs have ended; none beside another where that is not allowed; never more at
    once than there is room for; every tool in its place of the turn, once."""
    for tool in machine.tools:
        if tool.name in machine.ran:
            assert all(
                machine.ran[one][1] <= machine.ran[tool.name][0] for one in tool.needs if one in machine.ran
            ), tool
    alone = [tool.name for tool in machine.tools if tool.name in machine.ran and not (parallel and tool.overlaps)]
    for name in alone:
        begin, end = machine.ran[name]
        others = (ran for other, ran in machine.ran.items() if other != name)
        assert all(e <= begin or b >= end for b, e in others), name
    moments = sorted([(end, -1) for _, end, _ in machine.runs] + [(begin, 1) for begin, _, _ in machine.runs])
    at_once = most = 0
    for _, change in moments:
        at_once += change
        most = max(most, at_once)
    assert most <= machine.cap
    keys = [run.key for run in machine.conversation.runs]
    assert len(keys) == len(set(keys)) == len(machine.tools)
