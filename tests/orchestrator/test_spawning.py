"""Subagents that a model begins: waited for or not, awaited later, cancelled, bounded."""

import json
from typing import Any

import pytest
from tests.conversation_steps import NOW, after, asks, awaiting_model, call, says
from tests.forked_skills import ACTIVATED, RESEARCH, activate

from skillfleet.conversations.budgets import calls_made
from skillfleet.conversations.engine import step
from skillfleet.conversations.limits import Limits, Usage
from skillfleet.conversations.messages import ToolCall
from skillfleet.conversations.models import Conversation, ConversationSpec
from skillfleet.conversations.moves import (
    CallModel,
    ChildAwaited,
    ChildBegun,
    ChildFinished,
    ModelReplied,
    Paused,
    Resumed,
    StartChild,
    TimeShort,
    ToolFinished,
    WaitOver,
)
from skillfleet.conversations.parenting import CANCELLED, SHOWN_CHARS, TOLD_CHARS
from skillfleet.conversations.runs import ActivatedSkill
from skillfleet.events import changes
from skillfleet.subagents.fork import MAX_DEPTH
from skillfleet.tools.definitions import definition
from skillfleet.tools.own import SPAWNING
from skillfleet_workers.wire.published import Entry, PublishedSkill, Snapshot

SKILLS = Snapshot(
    skills=(
        PublishedSkill(name="navigate", version="1.0.0", digest="d", description="", entry=Entry(script="go.py")),
    )
)
NO_USAGE = Usage()
OWN = tuple(definition(own) for own in SPAWNING)


def parent(depth: int = 0, skills: tuple[str, ...] | None = None, **limits: Any) -> Conversation:
    begun = awaiting_model(**limits)
    given = {"tools": (*begun.spec.tools, *OWN), "subagents": True, "depth": depth, "skills": skills}
    return begun.model_copy(update={"spec": begun.spec.model_copy(update=given)})


def spawn(call_id: str = "a", **given: Any) -> ToolCall:
    return call("spawn_subagent", call_id, **({"prompt": "Count the bees."} | given))


def spawned(*calls: ToolCall, **spec: Any) -> Conversation:
    return after(parent(**spec), asks(*calls))


def ended(key: str, shown: str = "seven", usage: Usage = NO_USAGE, calls: int = 0) -> ChildFinished:
    return ChildFinished(key, "succeeded", shown, usage=usage, calls=calls, ended="completed")


def starts(
    conversation: Conversation, *calls: ToolCall, snapshot: Snapshot | None = SKILLS
) -> list[ConversationSpec]:
    message = asks(*calls).message
    _, effects = step(conversation, ModelReplied(message, snapshot=snapshot), NOW)
    return [effect.spec for effect in effects if isinstance(effect, StartChild)]


def shown(conversation: Conversation) -> list[Any]:
    """What the model was shown of the calls of the last turn that is over."""
    last = max(place for place, message in enumerate(conversation.messages) if message.role == "assistant")
    return [
        json.loads(message.content or "") for message in conversation.messages[last + 1 :] if message.role == "tool"
    ]


def refusal(conversation: Conversation) -> str:
    (error,) = shown(conversation)
    assert error["message"] and error["fix"]
    return str(error["error"])


def test_a_parent_that_waits_is_shown_the_answer_and_nothing_is_due_before() -> None:
    waiting = spawned(spawn())
    assert [run.awaits for run in waiting.out] == [("1.0",)]
    moved, effects = step(waiting, ended("1.0", "seven bees"), NOW)
    assert moved.messages[-1].content == "seven bees"
    assert effects == [CallModel()]


def test_a_parent_that_does_not_wait_goes_on_at_once_and_is_told_the_id() -> None:
    moved, effects = step(parent(), asks(spawn(wait=False, name="Counter")), NOW)
    (told,) = shown(moved)
    assert (told["agent_id"], told["name"], told["state"]) == ("c1-1-0", "Counter", "idle")
    assert "ends when you answer" in told["note"]
    assert [type(effect) for effect in effects] == [StartChild, CallModel]
    assert [child.open for child in moved.children] == [True]


def test_the_child_is_told_its_prompt_alone_and_what_it_is() -> None:
    (spec,) = starts(parent(), spawn(name="Counter", metadata={"of": "bees"}))
    system, asked = spec.opening
    assert asked.content == "Count the bees."
    assert "c1-1-0" in (system.content or "") and "Counter" in (system.content or "")
    assert (spec.id, spec.parent_id, spec.parent_call, spec.root, spec.depth) == ("c1-1-0", "c1", "c1.1.0", "c1", 1)
    assert spec.agent is not None
    assert (spec.agent.name, spec.agent.metadata, spec.agent.steps) == ("Counter", {"of": "bees"}, ())


def test_a_skill_runs_by_its_steps_and_its_child_has_no_other_tools() -> None:
    (spec,) = starts(parent(), call("spawn_subagent", skill="navigate", params={"location": "kitchen"}))
    assert spec.agent is not None
    assert (spec.agent.skill, spec.agent.params) == ("navigate", {"location": "kitchen"})
    assert [one.skill for one in spec.agent.steps] == ["navigate"]
    assert [tool.function.name for tool in spec.tools] == ["run_skill_script", "publish"]


@pytest.mark.parametrize(
    "given",
    [
        {"prompt": ""},
        {"skill": "navigate"},
        {"params": {}},
        {"prompt": "", "skill": "navigate", "skills": ["navigate"]},
        {"metadata": {str(key): key for key in range(21)}},
    ],
    ids=lambda given: ",".join(given),
)
def test_what_does_not_go_together_is_refused_at_once(given: dict[str, Any]) -> None:
    assert refusal(spawned(spawn(**given))) == "malformed_arguments"


def test_an_unknown_skill_is_refused_before_anything_starts() -> None:
    assert refusal(spawned(call("spawn_subagent", skill="fly"))) == "unknown_skill"
    assert starts(parent(), call("spawn_subagent", skill="fly")) == []


def test_a_child_may_use_no_skill_that_its_parent_may_not() -> None:
    for calls in (spawn(skills=["fly"]), call("spawn_subagent", skill="fly")):
        assert refusal(spawned(calls, skills=("navigate",))) == "skill_not_allowed"
    (spec,) = starts(parent(skills=("navigate", "detect")), spawn(skills=["navigate"]))
    assert spec.skills == ("navigate",)


def test_who_stands_deepest_begins_none_and_is_offered_no_tools_for_it() -> None:
    assert refusal(spawned(spawn(), depth=MAX_DEPTH)) == "too_deep"
    (spec,) = starts(parent(depth=MAX_DEPTH - 1), spawn())
    assert not {own.tool for own in SPAWNING} & {tool.function.name for tool in spec.tools}


def test_no_more_are_open_at_once_than_the_limit_says() -> None:
    calls = [spawn(str(place), wait=False) for place in range(3)]
    moved = spawned(*calls, max_children=2)
    assert [told.get("error", "begun") for told in shown(moved)] == ["begun", "begun", "max_children"]
    more = after(moved, ended("1.0"), asks(spawn("again", wait=False)))
    assert len(more.open_children) == 2


def test_all_that_are_open_are_awaited_and_told_in_their_order() -> None:
    begun = spawned(spawn("a", wait=False, name="A"), spawn("b", wait=False, name="B"))
    waiting = after(begun, asks(call("await_subagents")), ended("1.1", "two"))
    assert waiting.out[0].awaits == ("1.0", "1.1")
    moved, effects = step(waiting, ChildFinished("1.0", "tool_error", failure(), ended="failed"), NOW)
    (told,) = shown(moved)
    assert told == [
        {"agent_id": "c1-1-0", "name": "A", "state": "failed", "error": "It broke. Mend it."},
        {"agent_id": "c1-1-1", "name": "B", "state": "completed", "answer": "two"},
    ]
    assert effects == [CallModel()]


def failure() -> str:
    return json.dumps({"error": "child_failed", "message": "It broke.", "fix": "Mend it."})


def test_one_that_has_ended_meanwhile_is_among_all_until_it_was_told() -> None:
    begun = after(spawned(spawn(wait=False)), ended("1.0"))
    told = after(begun, asks(call("await_subagents")))
    assert shown(told)[0][0]["answer"] == "seven"
    assert shown(after(told, asks(call("await_subagents")))) == [[]]


def test_what_was_told_is_told_again_where_it_is_named_but_only_in_short() -> None:
    begun = after(spawned(spawn(wait=False)), ended("1.0", "x" * 20_000))
    named = asks(call("await_subagents", agent_ids=["c1-1-0"]))
    first = after(begun, named)
    assert len(shown(first)[0][0]["answer"]) == SHOWN_CHARS + 1
    assert len(shown(after(first, named))[0][0]["answer"]) == TOLD_CHARS + 1


def test_an_answer_that_was_waited_for_is_shown_whole() -> None:
    assert len(after(spawned(spawn()), ended("1.0", "x" * 20_000)).messages[-1].content or "") == 20_000


def test_an_unknown_subagent_is_answered_with_those_that_there_are() -> None:
    begun = spawned(spawn(wait=False))
    for unknown in (call("await_subagents", agent_ids=["c1-9-9"]), call("cancel_subagent", agent_id="c1-9-9")):
        (error,) = shown(after(begun, asks(unknown)))
        assert (error["error"], "c1-1-0" in error["fix"]) == ("unknown_subagent", True)


def test_a_wait_that_is_over_tells_how_far_they_have_come() -> None:
    waiting = after(spawned(spawn(wait=False)), ChildBegun("1.0"), asks(call("await_subagents", timeout=30)))
    assert waiting.out[0].until == NOW + 30
    told = after(waiting, WaitOver("2.0"))
    assert shown(told)[0] == [{"agent_id": "c1-1-0", "name": "", "state": "running"}]
    assert [child.open for child in told.children] == [True]
    at_once = after(spawned(spawn(wait=False)), asks(call("await_subagents", timeout=0)))
    assert shown(at_once)[0][0]["state"] == "idle"


def test_one_that_is_cancelled_is_unwanted_and_whoever_waits_for_it_goes_on() -> None:
    begun = spawned(spawn(wait=False))
    moved, effects = step(begun, asks(call("cancel_subagent", agent_id="c1-1-0")), NOW)
    assert [(child.open, child.unwanted) for child in moved.children] == [(False, True)]
    assert shown(moved)[0]["state"] == "failed"
    told = [json.loads(data) for kind, data in changes(begun, moved, effects) if kind == "child"]
    assert told == [{"key": "1.0", "child": "c1-1-0", "status": "cancelled"}]
    both = after(parent(), asks(spawn(), call("cancel_subagent", "b", agent_id="c1-1-0")))
    assert [answer["error"] for answer in shown(both)] == ["child_cancelled", CANCELLED.message]


def test_a_parent_that_answers_takes_its_open_children_along() -> None:
    answered = after(spawned(spawn(wait=False)), says("Done."))
    assert (answered.status, [child.unwanted for child in answered.children]) == ("completed", [True])


def test_for_its_last_turn_it_waits_for_nobody() -> None:
    begun = after(spawned(spawn(wait=False)), asks(call("await_subagents")))
    closing = after(begun, TimeShort())
    assert closing.closing is not None and closing.open_children == ()


def test_a_child_is_begun_until_it_is_known_to_have_begun() -> None:
    waiting = spawned(spawn())
    (start,) = step(waiting, ChildAwaited("1.0"), NOW)[1]
    assert isinstance(start, StartChild)
    begun = after(waiting, ChildBegun("1.0"))
    assert begun.children[0].begun and not begun.children[0].request
    assert step(begun, ChildAwaited("1.0"), NOW)[1] == []


def test_while_it_is_paused_none_begins_and_what_ends_is_kept() -> None:
    paused = after(spawned(spawn()), Paused())
    assert step(paused, ChildAwaited("1.0"), NOW)[1] == []
    settled, effects = step(paused, ended("1.0"), NOW)
    assert (settled.status, settled.out, effects) == ("paused", (), [])
    assert step(settled, Resumed(), NOW)[1] == [CallModel()]


def test_the_end_of_one_that_nobody_waits_for_moves_nothing_else() -> None:
    begun = spawned(spawn(wait=False))
    moved, effects = step(begun, ended("1.0", usage=Usage(cost=1.0)), NOW)
    assert (moved.messages, effects, moved.usage.cost) == (begun.messages, [], 1.0)


def test_spawning_counts_as_a_call_and_what_children_call_counts_too() -> None:
    moved = after(spawned(spawn(), spawn("b", wait=False)), ended("1.0", calls=3))
    assert calls_made(moved) == 5


def test_parents_and_children_share_what_is_left() -> None:
    limits: dict[str, Any] = {"max_output_tokens": 1202, "max_input_tokens": 310, "max_tool_calls": 11}
    moved, effects = step(parent(**limits, max_cost=6.0), asks(spawn(), spawn("b", wait=False)), NOW)
    shares = [effect.spec.limits for effect in effects if isinstance(effect, StartChild)]
    assert [(one.max_output_tokens, one.max_input_tokens, one.max_cost) for one in shares] == [(400, 100, 2.0)] * 2
    assert [one.max_tool_calls for one in shares] == [3, 3]
    # What the first did not use comes back, and what the other was given stays its own.
    back = after(moved, ended("1.0", usage=Usage(output_tokens=100, input_tokens=10, cost=0.5)))
    (spec,) = starts(back, spawn())
    assert (spec.limits.max_output_tokens, spec.limits.max_cost) == (1202 - 2 - 100 - 400, 3.5)
    assert spec.limits.max_tool_calls == 11 - 2 - 3 - 1


def test_a_child_ends_before_its_parent_has_to() -> None:
    moved, effects = step(parent(timeout_s=600.0), asks(spawn(wait=False)), NOW + 100)
    (start,) = (effect for effect in effects if isinstance(effect, StartChild))
    assert start.spec.limits.timeout_s == pytest.approx(moved.closes_at - NOW - 100)
    (later,) = step(moved, ChildAwaited("1.0"), NOW + 200)[1]
    assert isinstance(later, StartChild)
    assert later.spec.limits.timeout_s == pytest.approx(moved.closes_at - NOW - 200)


def test_a_skill_that_forks_is_one_of_the_children_that_may_be_open() -> None:
    waiting = after(parent(max_children=0), asks(activate()))
    moved = after(waiting, ToolFinished("1.0", "succeeded", ACTIVATED.shown, "w1", governing=ACTIVATED.governing))
    assert (moved.runs[0].refused, moved.children) == ("max_children", ())
    assert Limits().max_children == 10


def test_a_skill_that_governs_may_forbid_it_as_it_forbids_any_other_tool() -> None:
    for allowed, error in ((("Read",), "tool_not_allowed"), (("Task", "Read"), None), (("spawn_subagent",), None)):
        governing = RESEARCH.model_copy(update={"fork": False, "allowed_tools": allowed})
        governed = parent().model_copy(update={"activated": (ActivatedSkill(governing=governing, turn=0),)})
        moved = after(governed, asks(spawn()))
        assert (refusal(moved) if error else moved.out[0].status) == error
