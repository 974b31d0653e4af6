"""What a scripted model says in the child conversations of skills with `context: fork`."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conversation_steps import asks as model_asks
from tests.conversation_steps import awaiting_model, call, last_effects
from tests.forked_skills import ACTIVATED, RESEARCH

from skillfleet.conversations.engine import step
from skillfleet.conversations.limits import Problem
from skillfleet.conversations.models import ConversationSpec
from skillfleet.conversations.moves import StartChild, ToolFinished
from skillfleet.llm.base import ModelReply, ModelRequest
from skillfleet.llm.scripted import ScriptedModel, load_script

SAYS = [{"text": "It is done."}]


def child_of(script: dict[str, Any]) -> ConversationSpec:
    begun = awaiting_model()
    begun = begun.model_copy(update={"spec": begun.spec.model_copy(update={"script": script})})
    waiting, _ = step(begun, model_asks(call("skill", arguments='{"name": "research"}')), 0.0)
    (start,) = last_effects(waiting, ToolFinished("1.0", "succeeded", ACTIVATED.shown, "w1", governing=RESEARCH))
    assert isinstance(start, StartChild)
    return start.spec


def said(spec: ConversationSpec) -> ModelReply | Problem:
    assert spec.script is not None
    return ScriptedModel.of(spec.script, spec.script_start).reply(ModelRequest(spec.opening, (), 5))


def test_a_child_plays_the_replies_that_its_skill_has() -> None:
    reply = said(child_of({"replies": [{"text": "mine"}], "children": {"research": SAYS, "other": [{"text": "no"}]}}))
    assert isinstance(reply, ModelReply)
    assert reply.message.content == "It is done."


def test_a_child_without_replies_says_what_to_add() -> None:
    problem = said(child_of({"replies": [{"text": "mine"}]}))
    assert isinstance(problem, Problem)
    assert problem.code == "script_without_child"
    assert "`children:`" in problem.fix


def test_a_script_with_children_survives_the_journey_as_json(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    written = {"replies": [{"text": "mine"}], "children": {"research": SAYS}}
    path.write_text(json.dumps(written))
    assert load_script(path) == written


def test_the_names_of_results_are_each_list_s_own(tmp_path: Path) -> None:
    path, named = tmp_path / "script.json", {"calls": [{"tool": "list_skills", "as": "listed"}]}
    path.write_text(json.dumps({"replies": [named, *SAYS], "children": {"research": [named, *SAYS]}}))
    assert load_script(path)["children"]["research"][0] == named
    path.write_text(json.dumps({"replies": SAYS, "children": {"research": [named, named]}}))
    with pytest.raises(ValueError, match="two calls are named 'listed'"):
        load_script(path)


def test_a_child_that_would_say_nothing_is_told_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"replies": SAYS, "children": {"research": []}}))
    with pytest.raises(ValueError, match=r"children\.research: "):
        load_script(path)
