"""Models that plan: a prompt, and a plan inside a conversation."""

import json
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from tests.system.conftest import Shared
from tests.system.fleet import wait_for, wait_until_known
from tests.system.plan_tools import plan_skill, says, tool
from tests.system.replies import Turn, call

from skillfleet.fleet import Fleet
from skillfleet.plans.models import MAX_ATTEMPTS
from skillfleet_workers.wire import keys
from skillfleet_workers.wire.connection import RedisUrls

SKILLS = ("first", "second", "sick", "third")


@pytest.fixture(scope="module")
def fleet(shared: Shared) -> Iterator[Fleet]:
    for name in SKILLS:
        shared.place.add_skill(name, plan_skill(name))
    wait_until_known(shared.place, *SKILLS)
    with shared.place.fleet() as fleet:
        yield fleet
    for name in SKILLS:
        shutil.rmtree(shared.place.skills / name)


def draft(skill: str, **given: Any) -> str:
    return json.dumps({"narrative": f"By {skill}.", "tools": [tool("work", "echo", given, skill=skill)]})


def test_a_prompt_is_planned_anew_without_the_skills_that_failed_until_a_plan_succeeds(
    shared: Shared, fleet: Fleet
) -> None:
    model = shared.place.script(draft("first", exit=3), draft("second", exit=4), draft("third", n=7))
    name = fleet.submit_planning("Get to work.", model=model)
    report = fleet.result(name)
    attempts = [fleet.plan_result(one) for one in fleet.plan_attempts(name)]
    assert (report.status, [one.success for one in attempts]) == ("completed", [False, False, True])
    plans = [fleet.transcript(one).spec.plan for one in fleet.plan_attempts(name)]
    told = [plan.plan for plan in plans if plan]
    assert [one.disabled_skills for one in told] == [(), ("first",), ("first", "second")]
    assert [one.metadata.generation_attempt for one in told] == [1, 2, 3]
    assert [one.metadata.parent_plan_id for one in told] == [None, told[0].request_id, told[1].request_id]
    answer = json.loads(report.answer or "")
    assert (answer["planId"], answer["executionTrace"][0]["output"]) == (str(told[2].request_id), {"n": 7})


def test_the_health_of_a_skill_whose_tools_break_is_recorded(shared: Shared, fleet: Fleet) -> None:
    often = {"maxRetries": 12, "backoffMs": 0}
    broken = {"tools": [tool("work", "say", says("no JSON"), skill="sick", retryPolicy=often)]}
    model = shared.place.script(json.dumps(broken), draft("third", n=7))
    assert fleet.result(fleet.submit_planning("Get to work.", model=model)).status == "completed"
    wait_for(lambda: [one for one in fleet.running("worker") if "sick" in one.health], "a worker tells of it")


def test_a_plan_that_does_not_fit_is_corrected_once_and_then_counts_as_an_attempt(
    shared: Shared, fleet: Fleet
) -> None:
    misfit = json.dumps({"tools": [tool("work", "echo", {}, "nobody", skill="first")]})
    model = shared.place.script(misfit, draft("first", exit=3), "no plan", misfit, draft("third", n=1))
    name = fleet.submit_planning("Get to work.", model=model)
    assert fleet.result(name).status == "completed"
    shown = [one.content or "" for one in fleet.transcript(name).messages if one.role == "tool"]
    assert "tools[0].dependencies[0]: there is no tool 'nobody'" in shown[0]
    plans = [fleet.transcript(one).spec.plan for one in fleet.plan_attempts(name)]
    assert [one.plan.metadata.generation_attempt for one in plans if one] == [1, 3]


def test_after_the_last_attempt_there_is_the_fallback_result(shared: Shared, fleet: Fleet) -> None:
    drafts = [draft(skill, exit=3) for skill in SKILLS[:2]] + ["nothing"] * 2 * (MAX_ATTEMPTS - 2)
    name = fleet.submit_planning("Get to work.", model=shared.place.script(*drafts))
    report = fleet.result(name)
    assert (report.status, report.error and report.error.code) == ("failed", "plans_exhausted")
    answer = json.loads(report.answer or "")
    assert (answer["success"], answer["canReplan"], answer["failedTools"]) == (False, False, ["work"])
    assert "Get to work." in answer["narrative"]
    assert report.error and "in 5 of at most 5 attempts" in report.error.message


def test_where_no_other_skill_is_left_there_is_no_other_plan(shared: Shared, fleet: Fleet) -> None:
    model = shared.place.script(draft("first", exit=3), draft("second", exit=3), draft("third"))
    name = fleet.submit_planning("Get to work.", model=model, skills=["first", "second"])
    report = fleet.result(name)
    assert (report.status, len(fleet.plan_attempts(name))) == ("failed", 2)
    assert json.loads(report.answer or "")["canReplan"] is False


def test_the_model_is_told_of_the_tools_that_there_are_and_how_plans_failed(shared: Shared, fleet: Fleet) -> None:
    model = shared.provider.plays(draft("first", exit=3), draft("third", n=7))
    name = fleet.submit_planning("Get to work.", model=model)
    assert fleet.result(name).status == "completed"
    asked = [one.body["messages"] for one in shared.provider.received(model)]
    system = [one[0]["content"] for one in asked]
    assert '"first/scripts/echo.py"' in system[0] and '"first/scripts/echo.py"' not in system[1]
    assert '"third/scripts/echo.py"' in system[1] and "JSON Schema" in system[1]
    assert "has failed" in asked[1][-1]["content"] and "exit code 3" in asked[1][-1]["content"]


def test_a_model_executes_a_plan_inside_a_conversation(shared: Shared, fleet: Fleet) -> None:
    plan = {"tools": [tool("a", "echo", {"n": [1, 2]}, skill="third"),
                      tool("b", "echo", {"m": {"$from": "a", "pointer": "/n/1"}}, "a", skill="third")]}  # fmt: skip
    turns: list[Turn] = [[call("execute_plan", "p", plan=plan)], "${p.executionTrace.1.output.m}"]
    name = fleet.submit("Plan it.", model=shared.place.script(*turns), plans=True)
    assert fleet.result(name).answer == "2"
    (child,) = fleet.plan_attempts(name)
    assert fleet.plan_result(child).success and fleet.transcript(child).spec.parent_id == name


def test_attempts_that_are_not_kept_are_not_told_of(shared: Shared, fleet: Fleet) -> None:
    """A child is in its parent's records before it is accepted, and may be pruned before its parent."""
    turns: list[Turn] = [[call("execute_plan", plan={"tools": [tool("a", "echo", {}, skill="third")]})], "Done."]
    name = fleet.submit("Plan it.", model=shared.place.script(*turns), plans=True)
    assert fleet.result(name).status == "completed"
    (child,) = fleet.plan_attempts(name)
    RedisUrls.of(shared.place.settings).client().delete(keys.state(child))
    assert fleet.plan_attempts(name) == ()


def test_a_model_is_told_what_is_wrong_with_its_plan_and_how_it_failed(shared: Shared, fleet: Fleet) -> None:
    wrong = {"tools": [tool("a", "echo", {}, "b", skill="nowhere")]}
    bad = {"tools": [tool("a", "echo", {"exit": 9}, skill="third")]}
    turns: list[Turn] = [
        [call("execute_plan", "p", plan=wrong)],
        [call("execute_plan", "q", plan=bad)],
        "${p.error} ${q.failureReason} ${q.executionTrace.0.error.exitCode}",
    ]
    name = fleet.submit("Plan it.", model=shared.place.script(*turns), plans=True)
    assert fleet.result(name).answer == "plan_does_not_fit tool_failure 9"


def test_without_plans_the_tool_is_not_there(shared: Shared, fleet: Fleet) -> None:
    turns: list[Turn] = [[call("execute_plan", "p", plan={})], "${p.error}"]
    assert fleet.result(fleet.submit("Plan it.", model=shared.place.script(*turns))).answer == "unknown_tool"


def test_a_plan_of_a_conversation_that_is_cancelled_ends_with_it(shared: Shared, fleet: Fleet) -> None:
    plan = {"tools": [tool("a", "hold", {"mark": "f" * 8}, skill="third")]}
    name = fleet.submit("Plan.", model=shared.place.script([call("execute_plan", plan=plan)], "Never."), plans=True)
    wait_for(lambda: [one for one in fleet.plan_attempts(name) if fleet.transcript(one).out], "the plan runs")
    fleet.cancel(name)
    assert fleet.result(name).status == "cancelled"
    (child,) = fleet.plan_attempts(name)
    assert fleet.result(child).status == "cancelled"
