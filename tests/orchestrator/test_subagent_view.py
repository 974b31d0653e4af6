"""A conversation as the Subagent of seed 002."""

import json
from typing import Any

import pytest
from pydantic import ValidationError
from tests.conversation_steps import NOW, after, asks, awaiting_model, call, finished, queued, run_python, says

from skillfleet.conversations.limits import Problem
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import ModelFailed, Paused, Submitted
from skillfleet.subagents.models import AgentSpec, AgentState, ChainStep, ChildRun
from skillfleet.subagents.view import Subagent, is_subagent
from skillfleet_workers.wire.execution import ScriptExecution
from skillfleet_workers.wire.shown import shown_to_model

STEPS = (
    ChainStep(skill="navigate", script="go.py"),
    ChainStep(skill="detect", script="look.py", after=("navigate",)),
)
FETCH = AgentSpec(name="Fetcher-1", skill="fetch", params={"cup": True}, steps=STEPS, metadata={"user_id": "user123"})


def ran(stdout: str, **more: Any) -> str:
    return shown_to_model(ScriptExecution(status="succeeded", stdout=stdout, returncode=0).model_copy(update=more))


def run_of(skill: str, call_id: str = "a", **arguments: Any) -> Any:
    given = {"skill_name": skill, "script": "go.py", "arguments": arguments}
    return call("run_skill_script", call_id, json.dumps(given))


def of(conversation: Conversation, **spec: Any) -> Conversation:
    return conversation.model_copy(update={"spec": conversation.spec.model_copy(update=spec)})


def test_every_field_of_the_seed_is_there_in_iso_8601_utc() -> None:
    child = of(after(awaiting_model(), says("Done.")), agent=FETCH, parent_id="p", parent_call="p.1.0.1", root="r")
    told = Subagent.of(child).model_dump(mode="json")
    assert told == {
        "agent_id": "c1",
        "name": "Fetcher-1",
        "state": "completed",
        "assigned_skill": "fetch",
        "skill_params": {"cup": True},
        "results": {},
        "answer": None,
        "error": None,
        "created_at": "2023-11-14T22:13:20Z",
        "started_at": "2023-11-14T22:13:20Z",
        "completed_at": "2023-11-14T22:13:20Z",
        "metadata": {"user_id": "user123"},
        "parent_id": "p",
        "root": "r",
        "depth": 0,
        "children": [],
        "tenant": "default",
    }


def test_what_one_with_a_model_said_last_is_its_answer() -> None:
    assert Subagent.of(after(awaiting_model(), says("Done."))).answer == "Done."


def test_one_that_has_not_begun_is_idle_even_while_it_is_paused() -> None:
    idle = Subagent.of(after(queued(), Paused()))
    assert (idle.state, idle.started_at, idle.completed_at) == (AgentState.IDLE, None, None)
    assert Subagent.of(after(queued(), Submitted(), Paused())).state == AgentState.PAUSED


def test_a_chain_is_assigned_the_step_that_runs_and_has_the_results_of_those_that_have() -> None:
    """As the seed's "Fetch Object" goes on."""
    moving = of(after(awaiting_model(), asks(run_of("navigate", location="kitchen"))), agent=FETCH)
    told = Subagent.of(moving)
    assert (told.assigned_skill, told.skill_params) == ("navigate", {"location": "kitchen"})
    looking = after(moving, finished("1.0", ran('{"x": 10}')), asks(run_of("detect@1.0.0", "b", area="kitchen")))
    told = Subagent.of(looking)
    assert (told.assigned_skill, told.skill_params) == ("detect", {"area": "kitchen"})
    assert told.results == {"navigate": {"x": 10}}
    answer = json.dumps({"results": {"navigate": {"x": 10}, "detect": {}}})
    ended = Subagent.of(after(looking, finished("2.0", ran("{}")), says(answer)))
    assert (ended.assigned_skill, ended.skill_params) == ("fetch", {"cup": True})
    assert ended.results == {"navigate": {"x": 10}, "detect": {}}


@pytest.mark.parametrize(
    ("shown", "result"),
    [
        (ran('{"cup": 1}'), {"cup": 1}),
        (ran("42\n"), {"status": "succeeded", "returncode": 0, "stdout": "42\n", "stderr": ""}),
        (ran('{"cup": 1}', status="failed", returncode=3), {"status": "failed", "returncode": 3}),
        ("not an object", {"output": "not an object"}),
        ("[1, 2]", {"output": "[1, 2]"}),
    ],
)
def test_a_result_is_the_object_that_a_script_gave_else_what_is_known_of_its_run(
    shown: str, result: dict[str, Any]
) -> None:
    (found,) = Subagent.of(after(awaiting_model(), asks(run_python()), finished("1.0", shown))).results.items()
    assert found[0] == "calculator"
    assert result.items() <= found[1].items()


def test_the_last_run_of_a_skill_counts_and_its_documents_are_no_results() -> None:
    reading = after(awaiting_model(), asks(call("get_skill", "r", skill_name="pdf")), finished("1.0"))
    first = after(reading, asks(run_python("a")), finished("2.0", ran('{"n": 1}')))
    second = after(first, asks(run_python("a")), finished("3.0", ran('{"n": 2}')))
    assert Subagent.of(second).results == {"calculator": {"n": 2}}


def test_an_error_is_cut_with_a_mark_to_what_a_subagent_may_have() -> None:
    def told(length: int) -> str:
        return Subagent.of(after(awaiting_model(), ModelFailed(Problem(code="x", message="e" * length)))).error or ""

    assert told(1000) == "e" * 1000
    assert told(1001) == "e" * 999 + "…"


def test_the_children_of_forks_and_spawns_are_told_once_each_in_their_order() -> None:
    parent = after(awaiting_model(), asks(run_python("a"), run_python("b")))
    forked = parent.runs[1].model_copy(update={"child": "c1-1-1"})
    children = tuple(ChildRun(key=f"1.{index}", id=f"c1-1-{index}") for index in range(2))
    parent = parent.model_copy(update={"runs": (parent.runs[0], forked), "children": children})
    assert Subagent.of(parent).children == ("c1-1-0", "c1-1-1")
    assert Subagent.of(parent.model_copy(update={"children": ()})).children == ("c1-1-1",)


def test_what_goes_on_from_another_is_no_subagent_of_it_but_what_works_on_a_call_is() -> None:
    plain = of(queued(), parent_id="before")
    assert (is_subagent(plain), Subagent.of(plain).parent_id) == (False, None)
    assert is_subagent(of(plain, parent_call="before.1.0.1"))
    assert is_subagent(of(plain, agent=FETCH))


@pytest.mark.parametrize(
    ("field", "fits", "too_much"),
    [
        ("name", "n" * 100, "n" * 101),
        ("error", "e" * 1000, "e" * 1001),
        ("metadata", {str(key): key for key in range(20)}, {str(key): key for key in range(21)}),
        ("state", "paused", "sleeping"),
        ("created_at", "2025-12-19T10:05:00Z", "yesterday"),
    ],
)
def test_a_rule_of_the_seed_holds_at_its_limit_and_not_over_it(field: str, fits: Any, too_much: Any) -> None:
    whole = {"agent_id": "c1", "root": "c1", "tenant": "default", "state": "idle", "created_at": NOW}
    assert Subagent.model_validate(whole | {field: fits})
    with pytest.raises(ValidationError):
        Subagent.model_validate(whole | {field: too_much})
