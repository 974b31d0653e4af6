"""A model that plans: whatever it says becomes one plan, which is executed, or an attempt that failed."""

import json
from typing import Any

import pytest
from tests.conversation_steps import NOW, call
from tests.skill_snapshots import Shelf, published, snapshot

from skillfleet.conversations.asking import Asking
from skillfleet.conversations.engine import step
from skillfleet.conversations.limits import Problem
from skillfleet.conversations.messages import Message
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import ChildBegun, ChildFinished, ModelFailed, Submitted
from skillfleet.llm.base import Hear, ModelReply, ModelRequest, deaf
from skillfleet.plans.models import MAX_ATTEMPTS, ExecutionResult
from skillfleet.plans.showing import shown_result
from skillfleet.submission import Submission
from skillfleet_workers.wire.contract import ToolError
from skillfleet_workers.wire.published import PublishedScript
from skillfleet_workers.wire.shown import shown_to_model

SKILLS = snapshot(*(published(name, scripts=(PublishedScript(path="scripts/x.py"),)) for name in ("good", "bad")))


class Says:
    """As a model, what it is told to; keeps what it was asked."""

    def __init__(self) -> None:
        self.next: Message | Problem = Message(role="assistant", content="")
        self.asked: list[ModelRequest] = []

    def reply(self, request: ModelRequest, hear: Hear = deaf) -> ModelReply | Problem:
        self.asked.append(request)
        return ModelReply(self.next) if isinstance(self.next, Message) else self.next


class Planner:
    """One conversation, step by step."""

    def __init__(self) -> None:
        self.model = Says()
        self._asking = Asking(lambda spec: self.model, Shelf(SKILLS))
        spec = Submission.of({"prompt": "Get to work.", "planning": True}).spec()
        spec = spec.model_copy(update={"id": "c1", "created_at": NOW})
        self.now: Conversation = step(Conversation.begun(spec), Submitted(SKILLS.id), NOW)[0]

    def says(self, said: Message | Problem | str) -> "Planner":
        self.model.next = Message(role="assistant", content=said) if isinstance(said, str) else said
        self.now, _ = step(self.now, self._asking.ask(self.now, NOW), NOW)
        return self

    def ends(self, status: str, shown: str) -> "Planner":
        """The child that executes its plan."""
        (run,) = self.now.out
        self.now, _ = step(self.now, ChildBegun(run.key), NOW)
        told = "succeeded" if status == "completed" else "tool_error"
        self.now, _ = step(self.now, ChildFinished(run.key, told, shown, ended=status), NOW)
        return self

    def plans(self) -> list[dict[str, Any]]:
        """That were begun."""
        calls = [call for message in self.now.messages for call in message.tool_calls or ()]
        begun = {run.tool_call_id for run in self.now.runs if run.child}
        return [json.loads(call.function.arguments)["plan"] for call in calls if call.id in begun]


def draft(skill: str = "good", **more: Any) -> dict[str, Any]:
    return {"tools": [{"toolId": "t", "toolPath": f"{skill}/scripts/x.py", "input": {}}], **more}


def failed(plan: dict[str, Any], *skills: str) -> str:
    """All of many tools of these skills have."""
    error = {"type": "ToolExecutionFailed", "message": "x" * 300}
    trace = [
        {"toolId": f"t{index}", "toolPath": f"{skill}/scripts/x.py", "ok": False, "state": "failed",
         "executionTimeMs": 1, "retryCount": 0, "error": error}
        for index, skill in enumerate(skills)
    ]  # fmt: skip
    told = {"planId": plan["requestId"], "success": False, "canReplan": True, "executionTrace": trace,
            "failedTools": [one["toolId"] for one in trace]}  # fmt: skip
    return shown_result(ExecutionResult.model_validate(told))


def child_error(status: str) -> str:
    return shown_to_model(ToolError(error=f"child_{status}", message="It ended.", fix="Tell the user."))


def test_whatever_the_model_calls_one_plan_is_executed_and_nothing_else() -> None:
    calls = tuple(
        call("execute_plan", f"p{number}", plan=draft(disabledSkills=[], metadata={"generationAttempt": 4}))
        for number in range(8)
    )
    begun = Planner().says(Message(role="assistant", tool_calls=calls))
    assert [plan["metadata"] for plan in begun.plans()] == [{"generationAttempt": 1, "parentPlanId": None}]
    code = call("run_python_script", "x", skill_name="good", script="print(1)")
    refused = Planner().says(Message(role="assistant", tool_calls=(code,)))
    assert (refused.now.out, refused.plans()) == ((), [])
    assert [run.name for run in refused.now.runs] == ["execute_plan"]


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_plan_that_is_written_as_a_text_obeys_the_same_rules(times: int) -> None:
    planner = Planner().says(json.dumps(draft("bad")))
    (first,) = planner.plans()
    text = json.dumps(draft("bad", disabledSkills=[]))
    for _ in range(times):
        text = json.dumps(text)
    planner.ends("failed", failed(first, "bad")).says(text)
    assert len(planner.plans()) == 1
    assert "'bad'" in (planner.now.messages[-1].content or "")


def test_every_skill_that_failed_is_disabled_however_many_there_are() -> None:
    planner = Planner().says(json.dumps(draft()))
    names = [f"skill-number-{number}" for number in range(60)]
    planner.ends("failed", failed(planner.plans()[0], *(name for name in names for _ in range(3))))
    planner.says(json.dumps(draft()))
    assert planner.plans()[1]["disabledSkills"] == names


def test_a_plan_that_somebody_has_cancelled_is_followed_by_no_other() -> None:
    planner = Planner().says(json.dumps(draft()))
    planner.ends("cancelled", child_error("cancelled")).says(json.dumps(draft()))
    assert (planner.now.status, len(planner.plans()), len(planner.model.asked)) == ("failed", 1, 1)
    answer = json.loads(planner.now.answer or "")
    assert (answer["planId"], answer["canReplan"]) == (planner.plans()[0]["requestId"], False)


def test_a_plan_that_could_not_tell_what_it_came_to_is_the_parent_of_the_next() -> None:
    planner = Planner().says(json.dumps(draft()))
    planner.ends("expired", child_error("expired")).says(json.dumps(draft()))
    first, second = planner.plans()
    assert second["metadata"] == {"generationAttempt": 2, "parentPlanId": first["requestId"]}


@pytest.mark.parametrize("code", ["model_malformed_reply", "model_refused"])
def test_a_reply_that_is_none_counts_as_an_attempt_and_after_the_last_there_is_the_fallback(code: str) -> None:
    planner = Planner()
    for _ in range(2 * MAX_ATTEMPTS):
        planner.says(Problem(code=code, message="nothing that can be used"))
        assert planner.now.status == "running"
    planner.says("")
    assert (planner.now.status, planner.now.error and planner.now.error.code) == ("failed", "plans_exhausted")
    assert json.loads(planner.now.answer or "")["success"] is False
    assert all(message.content for request in planner.model.asked for message in request.messages)


def test_a_model_that_cannot_be_reached_ends_it() -> None:
    planner = Planner()
    planner.model.next = Problem(code="model_unreachable", message="nobody answers")
    assert isinstance(planner._asking.ask(planner.now, NOW), ModelFailed)
