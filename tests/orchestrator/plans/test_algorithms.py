"""The seed's algorithms: order, circles, backoff; and results that fit their schema."""

import json
from graphlib import CycleError
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from tests.orchestrator.plans.machine import Machine
from tests.orchestrator.plans.test_oracle import machines

from skillfleet.conversations.moves import CancelRequested, TimeShort
from skillfleet.plans.executor import Standing, startable
from skillfleet.plans.graph import ancestors, cycle, levels, order
from skillfleet.plans.models import ExecutionResult, PlanJson, RetryPolicy
from skillfleet.plans.schemas import SCHEMAS, schema_of

RESULT = Draft202012Validator(schema_of(SCHEMAS["execution-result"]))


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, tuple[str, ...]]:
    """Of which many have a circle."""
    random, count = Random(draw(st.integers(0, 2**32))), draw(st.integers(1, 12))
    names = [f"t{number}" for number in range(count)]
    density = random.choice((0.05, 0.1, 0.2))
    return {name: tuple(other for other in names if other != name and random.random() < density) for name in names}


def has_cycle(needs: dict[str, tuple[str, ...]]) -> bool:
    """As the seed writes it."""
    visited: set[str] = set()
    on_the_way: set[str] = set()

    def dfs(name: str) -> bool:
        visited.add(name)
        on_the_way.add(name)
        for needed in needs[name]:
            if (needed not in visited and dfs(needed)) or needed in on_the_way:
                return True
        on_the_way.remove(name)
        return False

    return any(name not in visited and dfs(name) for name in needs)


@settings(deadline=None)
@given(graphs())
def test_a_circle_is_found_where_there_is_one_and_is_one(needs: dict[str, tuple[str, ...]]) -> None:
    found = cycle(needs)
    assert bool(found) == has_cycle(needs)
    if found:
        assert found[0] == found[-1] and len(set(found)) == len(found) - 1
        assert all(after in needs[before] for before, after in pairwise(found))
        with pytest.raises(CycleError):
            order(needs)


@settings(deadline=None)
@given(graphs())
def test_the_order_is_that_of_levels_each_as_the_plan_lists_it(needs: dict[str, tuple[str, ...]]) -> None:
    if cycle(needs):
        return
    place = list(needs).index
    found = list(levels(needs))
    assert [name for level in found for name in level] == list(order(needs))
    for number, level in enumerate(found):
        before = {name for earlier in found[:number] for name in earlier}
        assert list(level) == sorted(level, key=place)
        assert all(set(needs[name]) <= before for name in level)
        assert not number or all(set(needs[name]) & set(found[number - 1]) for name in level)
    assert all(some >= set(needs[name]) for name, some in ancestors(needs).items())


@pytest.mark.parametrize(("attempt", "seconds"), [(1, 0.1), (2, 0.2), (3, 0.4)])
def test_each_pause_is_twice_as_long_as_the_one_before(attempt: int, seconds: float) -> None:
    assert RetryPolicy().backoff_s(attempt) == pytest.approx(seconds)
    assert RetryPolicy(backoff_ms=250).backoff_s(attempt) == pytest.approx(2.5 * seconds)


@settings(max_examples=60, deadline=None)
@given(machines(most=30), st.integers(0, 60), st.sampled_from([None, CancelRequested(), TimeShort()]))
def test_every_result_fits_its_schema_and_reads_again_as_itself(
    drawn: tuple[Machine, bool], steps: int, stop: CancelRequested | TimeShort | None
) -> None:
    machine, _ = drawn
    machine.begin()
    for _ in range(steps):
        machine.advance()
    if stop is not None:
        machine.tell(stop)
    result = machine.result()
    told: dict[str, Any] = json.loads(json.dumps(result.as_json()))
    RESULT.validate(told)
    assert ExecutionResult.model_validate(told) == result
    assert sorted(one["toolId"] for one in told["executionTrace"]) == sorted(tool.name for tool in machine.tools)


def test_a_tool_that_waits_for_a_person_holds_up_nobody() -> None:
    names = ("asks", "alone", "last")
    written: list[dict[str, Any]] = [{"toolId": name, "toolPath": "s/x.py", "input": {}} for name in names]
    plan = PlanJson.model_validate({"requestId": "6f1c2c1e-3f0a-4c57-9a33-0d6f1f2b8a10", "tools": written})
    assert list(startable(plan, Standing(held={"asks"}))) == ["alone"]
    assert list(startable(plan, Standing())) == ["asks"]
    assert list(startable(plan, Standing(begun={"alone"}))) == []
