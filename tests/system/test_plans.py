"""Plans on real workers."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.system.conftest import Shared
from tests.system.fleet import wait_for, wait_until_known
from tests.system.plan_tools import DONE, Holding, patch, plan, plan_skill, says, states, tool

from skillfleet.errors import BadRequestError
from skillfleet.fleet import Fleet
from skillfleet.plans.models import MAX_TOOLS, ErrorType, ExecutionResult, FailureReason, ToolResult

STRICT = ("strict-0", "strict-1", "strict-2")
"""What breaks the protocol: so often by one skill, and a worker would take no more calls of it for a while."""


@pytest.fixture(scope="module")
def fleet(shared: Shared) -> Iterator[Fleet]:
    for name in ("bench", *STRICT):
        shared.place.add_skill(name, plan_skill(name))
    wait_until_known(shared.place, "bench", *STRICT)
    with shared.place.fleet() as fleet:
        yield fleet
    for name in ("bench", *STRICT):
        shutil.rmtree(shared.place.skills / name)


def of(result: ExecutionResult, name: str) -> ToolResult:
    (found,) = [one for one in result.execution_trace if one.tool_id == name]
    return found


def quoted(name: str, pointer: str = "") -> dict[str, str]:
    return {"$from": name, "pointer": pointer}


def test_a_plan_of_python_and_shell_tools_with_patches_and_assets(fleet: Fleet, tmp_path: Path) -> None:
    asked = plan(
        tool("word", "echo", {"word": {"is": ["quick", "brown"]}}),
        tool("upper", "upper", {"text": quoted("word", "/word/is/1")}, "word"),
        tool("first", "say", says(patch(a={"x": 1, "y": 2}, b=1), DONE), "word"),
        tool("second", "say", says(patch(a={"x": None}), patch(c=quoted("upper", "/upper")), DONE), "first", "upper"),
        tool("picture", "draw", {"file": "out.txt", "text": "drawn é"}, "second"),
    )
    name = fleet.submit_plan(asked)
    report = fleet.result(name)
    result = fleet.plan_result(name)
    assert report.status == "completed" and result.success
    assert set(states(result.execution_trace).values()) == {"completed"}
    assert of(result, "upper").output == {"upper": "BROWN"}
    assert result.final_state == {"a": {"y": 2}, "b": 1, "c": "BROWN"}
    assert [event["type"] for event in of(result, "first").events] == ["state_patch", "done"]
    assert (str(result.plan_id), result.failed_tools, result.failure_reason) == (asked["requestId"], (), None)
    (saved,) = fleet.save(name, tmp_path)
    assert (tmp_path / "1.4" / "out.txt").read_text() == "drawn é", saved


def test_of_an_optional_tool_that_failed_those_that_quote_it_get_null(fleet: Fleet) -> None:
    result = fleet.run_plan(
        plan(
            tool("bad", "echo", {"exit": 3}, required=False),
            tool("good", "echo", {"from": quoted("bad", "/n"), "all": [quoted("bad")]}, "bad"),
        )
    )
    assert result.success and states(result.execution_trace) == {"bad": "failed", "good": "completed"}
    assert of(result, "good").output == {"from": None, "all": [None]}
    assert result.failed_tools == ("bad",)


def test_what_depends_on_a_required_tool_that_failed_is_skipped_and_all_else_goes_on(fleet: Fleet) -> None:
    result = fleet.run_plan(
        plan(
            tool("bad", "echo", {"exit": 3}),
            tool("next", "echo", {}, "bad", required=False),
            tool("last", "echo", {}, "next"),
            tool("apart", "echo", {"n": 1}),
        )
    )
    assert states(result.execution_trace) == {
        "bad": "failed",
        "next": "skipped",
        "last": "skipped",
        "apart": "completed",
    }
    error = of(result, "bad").error
    assert error and (error.type, error.exit_code) == (ErrorType.TOOL_EXECUTION_FAILED, 3)
    assert "as it was told" in error.message
    skipped = of(result, "last").error
    assert skipped and skipped.type is ErrorType.DEPENDENCY_FAILED and "'next'" in skipped.message
    assert (result.success, result.failure_reason) == (False, FailureReason.TOOL_FAILURE)


def test_a_tool_that_fails_twice_is_run_again_and_completes_with_its_retries_counted(fleet: Fleet) -> None:
    held = Holding()
    name = fleet.submit_plan(plan(held.tool("slow", retries=3)))
    for _ in range(2):
        before = wait_for(held.pids, "it runs")
        held.fail()
        wait_for(lambda: held.pids() not in ([], before), "it runs again")  # noqa: B023
    held.let_go()
    fleet.result(name)
    one = of(fleet.plan_result(name), "slow")
    assert (one.state, one.retry_count, one.output) == ("completed", 2, {"held": held.mark})


def test_an_option_that_plans_do_not_take_is_refused(fleet: Fleet) -> None:
    options: Any = {"model": "scripted:none.yaml"}
    with pytest.raises(BadRequestError, match="model: there is no such option; there are timeout, tool_timeout"):
        fleet.run_plan(plan(tool("a", "echo", {})), **options)
    with pytest.raises(BadRequestError, match="model: there is no such option"):
        fleet.run_skill("bench", **options)


def test_a_tool_that_takes_too_long_is_a_timeout(fleet: Fleet) -> None:
    held = Holding()
    name = fleet.submit_plan(plan(held.tool("slow", retries=1), tool("next", "echo", {}, "slow")), tool_timeout=1)
    fleet.result(name)
    result, (row, _) = fleet.plan_result(name), fleet.plan_chart(name).rows
    one = of(result, "slow")
    assert [bar.state for bar in row.bars] == ["timeout", "timeout"]
    assert states(result.execution_trace) == {"slow": "timeout", "next": "skipped"}
    assert one.error and (one.error.type, result.failure_reason) == (ErrorType.TIMEOUT, FailureReason.TIMEOUT)
    assert not held.pids()


def test_when_the_time_of_a_plan_is_over_what_runs_is_stopped_and_the_rest_is_pending(fleet: Fleet) -> None:
    held = Holding()
    asked = plan(tool("done", "echo", {}), held.tool("slow", "done"), tool("never", "echo", {}, "slow"))
    name = fleet.submit_plan(asked, timeout=8.0)
    wait_for(held.pids, "it runs")
    report = fleet.result(name)
    result = fleet.plan_result(name)
    assert (report.status, result.failure_reason) == ("expired", FailureReason.TIMEOUT)
    assert states(result.execution_trace) == {"done": "completed", "slow": "timeout", "never": "pending"}
    wait_for(lambda: not held.pids(), "its script is dead")


def test_a_plan_that_is_cancelled_stops_what_runs(fleet: Fleet) -> None:
    held = Holding()
    name = fleet.submit_plan(plan(held.tool("slow"), tool("never", "echo", {}, "slow")))
    wait_for(held.pids, "it runs")
    fleet.cancel(name)
    assert fleet.result(name).status == "cancelled"
    result = fleet.plan_result(name)
    assert states(result.execution_trace) == {"slow": "failed", "never": "pending"}
    assert (result.success, result.can_replan, result.failure_reason) == (False, False, None)
    wait_for(lambda: not held.pids(), "its script is dead")


def test_a_plan_that_is_paused_begins_nothing_until_it_goes_on(fleet: Fleet) -> None:
    held = Holding()
    name = fleet.submit_plan(plan(held.tool("slow"), tool("next", "echo", {}, "slow")))
    wait_for(held.pids, "it runs")
    fleet.pause(name)
    wait_for(lambda: fleet.status(name).status == "paused", "it is paused")
    held.let_go()
    wait_for(lambda: fleet.plan_chart(name).rows[0].bars and not held.pids(), "what runs may finish")
    assert states(fleet.plan_result(name).execution_trace)["next"] == "pending"
    fleet.resume(name)
    assert fleet.result(name).status == "completed"


def test_what_may_not_run_beside_others_runs_alone(fleet: Fleet) -> None:
    alone, beside = Holding(), Holding()
    asked = plan(beside.tool("beside"), alone.tool("alone", **{"async": False}), tool("other", "echo", {}))
    name = fleet.submit_plan(asked)
    wait_for(beside.pids, "it runs")
    wait_for(lambda: states(fleet.plan_result(name).execution_trace)["other"] == "completed", "so does another")
    assert not alone.pids()
    beside.let_go()
    wait_for(alone.pids, "it runs")
    alone.let_go()
    assert fleet.result(name).status == "completed"


def test_without_parallel_one_tool_runs_after_the_other(fleet: Fleet) -> None:
    first, second = Holding(), Holding()
    name = fleet.submit_plan(plan(first.tool("a"), second.tool("b"), parallel=False))
    wait_for(first.pids, "the first runs")
    assert not second.pids()
    assert states(fleet.plan_result(name).execution_trace) == {"a": "running", "b": "pending"}
    first.let_go()
    wait_for(second.pids, "the second runs")
    second.let_go()
    assert fleet.plan_result(name if fleet.result(name) else "").success


ASSET = {"type": "asset", "assetId": "a", "kind": "text", "mediaType": "text/markdown", "path": "SKILL.md"}
VIOLATIONS: list[tuple[str, dict[str, Any]]] = [
    ("is not JSON", says("hello", DONE)),
    ("is not a JSON object", says("[1]", DONE)),
    ("has no type out of", says({"type": "greeting"}, DONE)),
    ("does not say version", says('{"type": "done", "ok": true}')),
    ("whose patch is not", says({"type": "state_patch"}, DONE)),
    ("whose level is none of", says({"type": "log", "level": "loud", "message": "x"}, DONE)),
    ("asset that does not exist", says(ASSET | {"path": "none"}, DONE)),
    ("repeats the assetId", says(ASSET, ASSET, DONE)),
    ("ended without an event of type done", says({"type": "log", "level": "info", "message": "x"})),
]  # fmt: skip


@pytest.mark.parametrize(("told", "given"), VIOLATIONS, ids=[told for told, _ in VIOLATIONS])
def test_each_violation_of_the_protocol_fails_its_tool_as_one(fleet: Fleet, told: str, given: dict[str, Any]) -> None:
    skill = STRICT[VIOLATIONS.index((told, given)) % len(STRICT)]
    result = fleet.run_plan(plan(tool("bad", "say", given, skill=skill)))
    one = of(result, "bad")
    assert one.error and one.error.type is ErrorType.PROTOCOL_VIOLATION and told in one.error.message
    assert (one.state, result.failure_reason) == ("failed", FailureReason.PROTOCOL_VIOLATION)


@pytest.mark.parametrize(
    "given",
    [says({"type": "done", "ok": False, "summary": "no such page"}), says(DONE, exit=1)],
    ids=["done is not ok", "the exit code is not 0"],
)
def test_a_tool_that_says_that_it_failed_has_failed_and_changes_no_state(fleet: Fleet, given: dict[str, Any]) -> None:
    given["lines"].insert(0, patch(seen=True))
    result = fleet.run_plan(plan(tool("bad", "say", given)))
    one = of(result, "bad")
    assert one.error and one.error.type is ErrorType.TOOL_EXECUTION_FAILED
    assert result.failure_reason is FailureReason.TOOL_FAILURE and result.final_state == {}


def test_a_script_that_is_not_there_fails_its_tool_and_tells_which_there_are(fleet: Fleet) -> None:
    result = fleet.run_plan(plan(tool("bad", "echo", {}, toolPath="bench/scripts/none.py", retries=3)))
    error = of(result, "bad").error
    assert error and "echo" in error.message and of(result, "bad").retry_count == 0


def test_a_plan_with_a_skill_that_is_not_there_is_refused(fleet: Fleet) -> None:
    with pytest.raises(BadRequestError, match=r"tools\[0\].toolPath: there is no skill 'none'; there are: .*bench"):
        fleet.submit_plan(plan(tool("a", "echo", {}, skill="none")))


def test_a_pointer_that_leads_nowhere_fails_the_tool_that_quotes(fleet: Fleet) -> None:
    asked = plan(tool("a", "echo", {"n": 1}), tool("b", "echo", {"m": quoted("a", "/none")}, "a"))
    error = of(fleet.run_plan(asked), "b").error
    assert error and "'/none'" in error.message and "it has n" in error.message


def test_a_person_is_asked_about_the_tools_that_rules_name(fleet: Fleet) -> None:
    name = fleet.submit_plan(plan(tool("a", "echo", {}), tool("b", "echo", {}, "a")), rules=["ask:*"])
    wait_for(lambda: len(fleet.status(name).waiting_for) == 2, "they wait for a person")
    fleet.approve(name, "1.0")
    wait_for(lambda: states(fleet.plan_result(name).execution_trace)["a"] == "completed", "the first has run")
    fleet.deny(name, "1.1", reason="not today")
    fleet.result(name)
    error = of(fleet.plan_result(name), "b").error
    assert error and "not today" in error.message


def test_a_fan_and_a_chain_come_to_their_end(fleet: Fleet) -> None:
    fan = [tool(f"f{number}", "echo", {"n": number}, "root") for number in range(100)]
    chain = [
        tool(f"c{number}", "echo", {"n": quoted(f"c{number - 1}", "/n")}, f"c{number - 1}") for number in range(1, 20)
    ]
    asked = plan(tool("root", "echo", {}), tool("c0", "echo", {"n": [7]}), *fan, *chain)
    result = fleet.run_plan(asked, timeout=120)
    assert result.success and set(states(result.execution_trace).values()) == {"completed"}
    assert len(result.execution_trace) == 121 and of(result, "c19").output == {"n": [7]}


def test_more_tools_than_there_may_be_are_refused(fleet: Fleet) -> None:
    tools = [tool(f"t{number}", "echo", {}) for number in range(MAX_TOOLS + 1)]
    with pytest.raises(BadRequestError, match="tools"):
        fleet.submit_plan(plan(*tools))
