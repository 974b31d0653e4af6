"""A skill with `context: fork`: a child conversation carries it out, and its answer is the call's result."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.conversation_steps import NOW, after, asks, awaiting_model, call, last_effects, list_skills, make_spec
from tests.forked_skills import ACTIVATED, CONTENT, RESEARCH, activate
from tests.orchestrator.driver_parts import HeldModel, Place

from skillfleet.conversations.asking import Asking
from skillfleet.conversations.descent import continued
from skillfleet.conversations.engine import step
from skillfleet.conversations.ledger import LEASE_S, Accepted
from skillfleet.conversations.limits import Limits, Problem
from skillfleet.conversations.looks import CHILD_LOOK_S
from skillfleet.conversations.memory_ledger import MemoryLedger
from skillfleet.conversations.messages import Message, transcript_problem
from skillfleet.conversations.models import Conversation, ConversationSpec
from skillfleet.conversations.moves import CancelRequested, ChildFinished, Paused, StartChild, ToolFinished
from skillfleet.conversations.report import report
from skillfleet.events import changes
from skillfleet.llm.base import ModelReply
from skillfleet.llm.prompts import system_prompt
from skillfleet.llm.scripted import ScriptedModel
from skillfleet.subagents.fork import MAX_DEPTH, NO_ARGUMENTS, outcome
from skillfleet_workers.wire.contract import ScriptTool
from skillfleet_workers.wire.published import Snapshot

ACTIVATION = {"tool": "skill", "arguments": {"name": "research", "arguments": "bees"}, "as": "found"}
QUOTES = {"text": "They say: ${found}"}
LIST = {"tool": "list_skills"}
FORKED = ToolFinished("1.0", "succeeded", CONTENT, "w1", governing=RESEARCH)


@pytest.fixture
def place() -> Iterator[Place]:
    here = Place()
    here.workers.answers["c1.1.0"] = ACTIVATED
    with here.working():
        yield here


class Changing:
    """Skills that are others by now."""

    def current(self) -> Snapshot:
        return Snapshot()

    def read(self, snapshot_id: str) -> Snapshot | None:
        return None


def submit(place: Place, *replies: dict[str, Any], children: dict[str, Any] | None = None, **spec: Any) -> None:
    script = {"replies": list(replies), "children": children or {}}
    place.ledger.submit(make_spec().model_copy(update={"script": script, **spec}))


def waiting_parent(arguments: str = "bees", **spec: Any) -> Conversation:
    begun = awaiting_model()
    begun = begun.model_copy(update={"spec": begun.spec.model_copy(update=spec)})
    return after(begun, asks(activate(arguments=arguments)))


def child_of(parent: Conversation, told: ToolFinished = FORKED) -> ConversationSpec:
    (start,) = last_effects(parent, told)
    assert isinstance(start, StartChild)
    return start.spec


def tool_texts(conversation: Conversation) -> list[str | None]:
    return [message.content for message in conversation.messages if message.role == "tool"]


def test_the_child_s_answer_is_what_the_parent_s_model_is_shown(place: Place) -> None:
    found = [{"calls": [LIST]}, {"text": "bees dance"}]
    submit(place, {"calls": [ACTIVATION]}, QUOTES, children={"research": found})
    with place.driving(slots=1):
        ended, child = place.ended(), place.ended("c1-1-0")
    assert (ended.status, ended.answer, ended.turn) == ("completed", "They say: bees dance", 2)
    assert (child.status, child.answer, child.spec.parent_id) == ("completed", "bees dance", "c1")
    assert tool_texts(child) == ["result of 1.0"]
    assert [transcript_problem(one.messages) for one in (ended, child)] == [None, None]
    told = [entry.data["status"] for entry in place.ledger.entries("c1", "0", 0) if entry.type == "child"]
    assert told == ["queued", "completed"]
    assert [call.child for call in report(ended, NOW).tool_calls] == ["c1-1-0"]


def test_a_child_that_fails_is_an_error_that_the_parent_s_model_reads(place: Place) -> None:
    submit(place, {"calls": [ACTIVATION]}, {"text": "I could not"})
    with place.driving():
        ended = place.ended()
    assert (ended.status, ended.answer, ended.runs[0].status) == ("completed", "I could not", "tool_error")
    shown = json.loads(tool_texts(ended)[0] or "")
    assert shown["error"] == "child_failed"
    assert "research" in shown["message"] and "`children:`" in shown["message"]


def test_two_children_of_one_turn_and_a_call_are_worked_on_side_by_side(place: Place) -> None:
    place.workers.answers["c1.1.1"] = ACTIVATED
    calls = [ACTIVATION, ACTIVATION | {"as": "also"}, LIST]
    submit(place, {"calls": calls}, QUOTES, children={"research": [{"text": "bees dance"}]})
    with place.driving():
        assert tool_texts(place.ended()) == ["bees dance", "bees dance", "result of 1.2"]


def test_children_fork_in_their_turn_as_deep_as_they_may(place: Place) -> None:
    names = ["c1", "c1-1-0", "c1-1-0-1-0", "c1-1-0-1-0-1-0"]
    for depth, name in enumerate(names):
        governing = RESEARCH.model_copy(update={"skill": f"level-{depth}"})
        place.workers.answers[f"{name}.1.0"] = ACTIVATED.model_copy(update={"governing": governing})
    activations = [{"calls": [ACTIVATION | {"arguments": {"name": f"level-{depth}"}}]} for depth in range(len(names))]
    children = {f"level-{depth}": [deeper, {"text": "done"}] for depth, deeper in enumerate(activations[1:])}
    submit(place, activations[0], QUOTES, children=children)
    with place.driving(slots=1):
        place.ended()
    deepest = place.ledger.load(names[-1])
    assert deepest is not None and deepest.spec.depth == MAX_DEPTH
    assert tool_texts(deepest) == [CONTENT]
    assert len(place.ledger.newest(9)) == len(names)


def test_a_cancelled_parent_ends_its_child(place: Place) -> None:
    submit(place, {"calls": [ACTIVATION]}, QUOTES)
    held = HeldModel()
    replies = Message(role="assistant", tool_calls=(activate(),))

    def models(spec: ConversationSpec) -> Any:
        return held if spec.parent_call else Says(replies)

    with place.driving(models):
        assert held.asked.wait(20)
        place.ledger.cancel("c1")
        assert place.ended().status == "cancelled"
        assert place.ended("c1-1-0").status == "cancelled"
        held.go_on.set()


def test_a_child_pauses_and_goes_on_with_its_parent(place: Place) -> None:
    submit(place, {"calls": [ACTIVATION]}, QUOTES, children={"research": [{"text": "bees dance", "delay_s": 0.05}]})
    held = HeldModel("bees dance")
    with place.driving(lambda spec: held if spec.parent_call else ScriptedModel.of(spec.script or {})):
        assert held.asked.wait(20)
        place.ledger.pause("c1")
        place.followed(until="paused")
        held.go_on.set()
        assert place.ended("c1-1-0").status == "completed"
        place.ledger.resume("c1")
        assert place.ended().answer == "They say: bees dance"


def test_a_child_whose_start_was_lost_with_its_orchestrator_begins_at_the_next_look(place: Place) -> None:
    class Dying(MemoryLedger):
        """Its process is gone when it would begin a child."""

        def submit(self, *specs: ConversationSpec) -> list[Accepted]:
            return [] if specs[0].parent_call else super().submit(*specs)

    submit(place, {"calls": [ACTIVATION]}, QUOTES, children={"research": [{"text": "bees dance"}]})
    with place.driving(ledger=Dying(place.store)):
        place.until(lambda: waits_for_child(place), "it forks")
    assert place.ledger.load("c1-1-0") is None
    place.pass_time(max(CHILD_LOOK_S, LEASE_S))
    with place.driving():
        assert place.ended().answer == "They say: bees dance"


def test_a_fleet_of_some_conversations_serves_their_children_too(place: Place) -> None:
    submit(place, {"calls": [ACTIVATION]}, QUOTES, children={"research": [{"text": "bees dance"}]})
    only = {"c1"}
    with place.driving(only=only):
        assert place.ended().answer == "They say: bees dance"


def test_a_fleet_of_some_conversations_that_comes_later_finds_their_children(place: Place) -> None:
    submit(place, {"calls": [ACTIVATION]}, QUOTES, children={"research": [{"text": "bees dance", "delay_s": 0.05}]})
    with place.driving(only={"c1"}) as first:
        place.until(lambda: place.ledger.load("c1-1-0"), "the child begins")
        first.stop()
    place.pass_time(CHILD_LOOK_S)
    with place.driving(only={"c1"}):
        assert place.ended().answer == "They say: bees dance"


def test_the_child_works_on_the_arguments_by_the_skill_s_instructions_and_knows_nothing_else() -> None:
    parent = waiting_parent(tenant="ann", priority=2, skills=("research",))
    child = child_of(parent)
    system, asked = child.opening
    assert system.content == system_prompt(CONTENT)
    assert asked == Message(role="user", content="bees")
    assert (child.tenant, child.priority, child.skills) == ("ann", 2, ("research",))
    assert (child.tools, child.depth, child.parent_call) == (parent.spec.tools, 1, "c1.1.0")
    assert [active.governing for active in child.activated] == [RESEARCH]
    assert child_of(waiting_parent(arguments="")).opening[1].content == NO_ARGUMENTS


def test_the_child_has_the_skill_s_model_where_it_has_one() -> None:
    wish = ToolFinished("1.0", "succeeded", CONTENT, "w1", governing=RESEARCH.model_copy(update={"model": "fast"}))
    parent = waiting_parent(model="slow")
    assert (child_of(parent).model, child_of(parent, wish).model) == ("slow", "fast")


def test_a_skill_that_inherits_the_model_leaves_the_child_that_of_its_parent() -> None:
    wish = ToolFinished("1.0", "succeeded", CONTENT, "w1", governing=RESEARCH.model_copy(update={"model": "inherit"}))
    child = child_of(waiting_parent(model="slow"), wish)
    assert (child.model, Conversation.begun(child).model) == ("slow", "slow")


def test_the_child_is_offered_the_scripts_of_the_skill() -> None:
    tool = ScriptTool(tool="research__find", script="scripts/find.py", language="python")
    told = ToolFinished("1.0", "succeeded", CONTENT, "w1", tools=(tool,), governing=RESEARCH)
    assert [script.name for script in child_of(waiting_parent(), told).scripts] == ["research__find"]


def test_the_child_runs_the_scripts_of_the_version_that_was_activated() -> None:
    tool = ScriptTool(tool="research__find", script="scripts/find.py", language="python")
    parent = after(awaiting_model(), asks(call("skill", name="research@1.0.0")))
    (script,) = child_of(parent, replace(FORKED, tools=(tool,))).scripts
    assert script.skill_name == "research@1.0.0"


def test_the_child_keeps_to_the_skills_of_its_parent_and_what_goes_on_from_it_does_not() -> None:
    parent = waiting_parent().model_copy(update={"snapshot": "as-it-began"})
    child = Conversation.begun(child_of(parent))
    assert Asking(lambda spec: HeldModel(), Changing(), lambda: NOW).snapshot_for(child) == "as-it-began"
    ended = child.model_copy(update={"status": "completed", "answer": "Done."})
    later = continued(ended, "c9", "And now?")
    assert isinstance(later, ConversationSpec) and later.snapshot == ""


def test_the_child_has_what_is_left_of_the_parent_s_time() -> None:
    parent = waiting_parent()
    (start,) = last_effects(parent, FORKED, now=NOW + 100)
    assert isinstance(start, StartChild)
    assert start.spec.limits.timeout_s == pytest.approx(parent.closes_at - NOW - 100)


def test_a_clock_that_was_set_back_gives_the_child_no_more_time_than_its_parent_had() -> None:
    (start,) = last_effects(waiting_parent(limits=Limits(timeout_s=7 * 86400)), FORKED, now=NOW - 3600)
    assert isinstance(start, StartChild)
    assert start.spec.limits.timeout_s == 7 * 86400


def test_a_paused_parent_starts_no_child() -> None:
    assert last_effects(waiting_parent(), Paused(), FORKED) == []


def test_a_parent_that_ends_without_its_child_tells_so() -> None:
    waiting = after(waiting_parent(), FORKED)
    cancelled, effects = step(waiting, CancelRequested(), NOW)
    told = [(kind, json.loads(data)) for kind, data in changes(waiting, cancelled, effects)]
    assert [kind for kind, _ in told] == ["message"]
    unbegun = ChildFinished("1.0", "tool_error", "", ended="cancelled", begun=False)
    ended, effects = step(cancelled, unbegun, NOW)
    told = [(kind, json.loads(data)) for kind, data in changes(cancelled, ended, effects)]
    assert [kind for kind, _ in told] == ["child", "ended"]
    assert told[0][1] == {"key": "1.0", "child": "c1-1-0", "status": "cancelled"}


def test_what_the_parent_s_child_came_to_is_taken_once() -> None:
    waiting = after(awaiting_model(), asks(activate("a"), list_skills("b")), FORKED)
    first = after(waiting, ChildFinished("1.0", "succeeded", "bees dance"))
    assert after(first, ChildFinished("1.0", "succeeded", "bees sleep")) == first
    assert after(waiting, ChildFinished("1.1", "succeeded", "bees sleep")) == waiting


def test_how_a_child_ended_without_an_answer_is_told_to_the_parent_s_model() -> None:
    spec = child_of(waiting_parent())
    for status, how in (("failed", "failed"), ("cancelled", "was cancelled"), ("expired", "reached its limit")):
        problem = Problem(code="x", message="There is no more.", fix="Give more.")
        told = outcome(Conversation.begun(spec).model_copy(update={"status": status, "error": problem}))
        error = json.loads(told.shown)
        assert (told.status, error["error"]) == ("tool_error", f"child_{status}")
        assert error["message"].endswith(f"the skill research {how}: There is no more. Give more.")


def test_what_goes_on_from_a_child_works_for_no_parent() -> None:
    child = Conversation.begun(child_of(waiting_parent())).model_copy(update={"status": "completed"})
    own = continued(child, "c9", "And wasps?")
    assert isinstance(own, ConversationSpec)
    assert (own.parent_id, own.parent_call, own.depth) == ("c1-1-0", "", 0)


class Says:
    def __init__(self, message: Message) -> None:
        self._message = message

    def reply(self, *_: Any, **__: Any) -> Any:
        return ModelReply(self._message)


def waits_for_child(place: Place) -> bool:
    parent = place.ledger.load("c1")
    return parent is not None and bool(parent.with_children)
