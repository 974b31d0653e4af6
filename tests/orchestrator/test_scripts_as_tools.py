"""Scripts of a skill that was read, as tools of their own."""

from typing import Any

import pytest
from tests.conversation_steps import (
    after,
    asks,
    awaiting_calls,
    call,
    last_effects,
    list_skills,
    make_spec,
    queued,
    says,
)
from tests.openai_rules import why_refused
from tests.orchestrator.driver_parts import Place

from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import RunTool, ToolFinished, ToolLost
from skillfleet.llm.base import Hear, ModelReply, ModelRequest, deaf
from skillfleet.tools.definitions import MAX_SCHEMA_CHARS, all_definitions, offered
from skillfleet.tools.scripts import MAX_SCRIPTS, with_scripts
from skillfleet_workers.wire.calls import CallResult
from skillfleet_workers.wire.contract import RUN_SCRIPT, ScriptTool

EXTRACT = ScriptTool(
    tool="pdf__extract", script="scripts/extract.py", description="Extract\nthe text of a PDF.", language="python"
)
READS_PDF = call("get_skill", skill_name="pdf")


def read(*scripts: ScriptTool) -> ToolFinished:
    return ToolFinished("1.0", "succeeded", "# PDF", "w1", tools=scripts)


def reader(*scripts: ScriptTool) -> Conversation:
    """It has read the skill, and its model is asked for the next turn."""
    return after(awaiting_calls(READS_PDF), read(*scripts))


def many(count: int) -> list[ScriptTool]:
    return [ScriptTool(tool=f"pdf__s{n}", script=f"scripts/s{n}.py", language="shell") for n in range(count)]


def names(conversation: Conversation) -> list[str]:
    return [tool.function.name for tool in offered(conversation)]


BEFORE = [tool.function.name for tool in all_definitions()]


def test_the_scripts_of_a_skill_are_offered_once_it_was_read() -> None:
    assert names(awaiting_calls(READS_PDF)) == BEFORE
    assert names(reader(EXTRACT)) == [*BEFORE, "pdf__extract"]


def test_a_scripts_tool_has_the_parameters_of_run_skill_script_but_those_that_its_name_says() -> None:
    general = next(tool.function for tool in all_definitions() if tool.function.name == RUN_SCRIPT.tool)
    own = offered(reader(EXTRACT))[-1].function
    named = {"skill_name", "script"}
    assert own.parameters["properties"].keys() == general.parameters["properties"].keys() - named
    assert all(
        about == general.parameters["properties"][name] for name, about in own.parameters["properties"].items()
    )
    assert own.parameters["required"] == []
    assert own.description == "Extract the text of a PDF. Runs scripts/extract.py of the skill pdf."


def test_a_script_is_offered_once_however_often_its_skill_is_read() -> None:
    again = after(reader(EXTRACT), asks(call("get_skill", "b", skill_name="pdf")))
    again = after(again, ToolFinished("2.0", "succeeded", "# PDF", tools=(EXTRACT, *many(1))))
    assert names(again) == [*BEFORE, "pdf__extract", "pdf__s0"]


def test_of_two_scripts_with_one_name_the_first_keeps_it() -> None:
    other = EXTRACT.model_copy(update={"script": "extract.py"})
    (script,) = with_scripts(reader(EXTRACT), "pdf2", [other]).scripts
    assert (script.skill_name, script.script) == ("pdf", "scripts/extract.py")


def test_beyond_the_limit_scripts_are_not_offered_but_still_run_by_their_path() -> None:
    full = reader(*many(MAX_SCRIPTS + 5))
    assert names(full)[len(BEFORE) :] == [f"pdf__s{n}" for n in range(MAX_SCRIPTS)]
    last = call(RUN_SCRIPT.tool, skill_name="pdf", script=f"scripts/s{MAX_SCRIPTS + 4}.py")
    (effect,) = last_effects(full, asks(last))
    assert isinstance(effect, RunTool)


def test_names_that_a_provider_refuses_or_that_are_taken_are_not_offered() -> None:
    wrong = [EXTRACT.model_copy(update={"tool": name}) for name in ("pdf.extract", "", "x" * 65, "list_skills")]
    assert names(reader(*wrong)) == BEFORE


def test_a_conversation_that_may_not_run_scripts_is_offered_none() -> None:
    spec = make_spec().model_copy(update={"tools": all_definitions()[:3]})
    assert with_scripts(Conversation(spec=spec), "pdf", [EXTRACT]).scripts == ()


def test_a_request_with_every_script_is_what_a_provider_takes() -> None:
    full = reader(*many(MAX_SCRIPTS), EXTRACT)
    tools = [tool.model_dump(mode="json") for tool in offered(full)]
    request = {"model": "m", "messages": [message.wire() for message in full.messages], "tools": tools}
    assert why_refused(request) is None


def test_a_call_of_a_scripts_tool_runs_the_script_and_is_answered_by_its_own_name() -> None:
    called = after(reader(EXTRACT), asks(call("pdf__extract", "x", args=["a.pdf"])))
    (run,) = called.out
    assert (run.task, run.name, run.skill) == (RUN_SCRIPT, "pdf__extract", "pdf")
    assert run.request == {"skill_name": "pdf", "script": "scripts/extract.py", "args": ["a.pdf"]}
    assert Conversation.model_validate_json(called.model_dump_json()) == called
    answered = after(called, ToolFinished(run.key, "succeeded", "text"))
    assert (answered.messages[-1].name, answered.messages[-1].tool_call_id) == ("pdf__extract", "x")


def test_a_script_whose_worker_died_is_not_run_again_under_its_own_name_either() -> None:
    called = after(reader(EXTRACT), asks(call("pdf__extract")))
    lost = after(called, ToolLost("2.0"))
    assert lost.runs[-1].status == "lost"
    assert len(lost.runs) == 2


def test_what_ends_the_turn_of_the_reading_does_not_matter() -> None:
    both = awaiting_calls(READS_PDF, list_skills("b"))
    assert names(after(both, ToolFinished("1.1", "succeeded", "[]"), read(EXTRACT)))[-1] == "pdf__extract"
    assert names(after(both, read(EXTRACT), ToolFinished("1.1", "succeeded", "[]")))[-1] == "pdf__extract"


def test_the_model_sees_them_in_its_next_turn() -> None:
    seen: list[set[str]] = []
    replies = [asks(READS_PDF).message, says("Done.").message]

    class Model:
        def reply(self, request: ModelRequest, hear: Hear = deaf) -> ModelReply:
            seen.append({tool.function.name for tool in request.tools})
            return ModelReply(replies[len(seen) - 1])

    place = Place()
    place.ledger.submit(queued().spec)
    with place.driving(Model()):
        place.until(lambda: place.workers.sent, "the call is sent")
        (ref,) = place.workers.sent
        assert place.workers.ledger.claim(ref, "w1") == "claimed"
        place.workers.ledger.commit(ref, CallResult(status="succeeded", shown="# PDF", tools=(EXTRACT,)))
        assert place.ended().status == "completed"
    assert [one - set(BEFORE) for one in seen] == [set(), {"pdf__extract"}]


SCHEMA = {"$schema": "x", "type": "object", "properties": {"pages": {"type": "integer"}}, "required": ["pages"]}


def told(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters of the script's own tool."""
    own = offered(reader(EXTRACT.model_copy(update={"parameters": parameters})))[-1]
    request = {"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": [own.model_dump(mode="json")]}
    assert why_refused(request) is None
    return own.function.parameters


def test_a_scripts_own_tool_shows_which_arguments_it_takes() -> None:
    plain, shown = told({"type": "object"}), told(SCHEMA)
    arguments = shown["properties"].pop("arguments")
    assert arguments["properties"] == {"pages": {"type": "integer"}} and arguments["required"] == ["pages"]
    assert arguments["description"] == plain["properties"].pop("arguments")["description"]
    assert "$schema" not in arguments
    assert shown["properties"] == plain["properties"]
    assert (plain["required"], shown["required"]) == ([], ["arguments"])


@pytest.mark.parametrize(
    "refused",
    [
        {},
        {"type": "array"},
        {"type": ["object", "null"]},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}},
        {"type": "object", "description": "x" * MAX_SCHEMA_CHARS},
    ],
)
def test_a_schema_that_providers_refuse_is_not_shown(refused: dict[str, Any]) -> None:
    assert told(refused) == offered(reader(EXTRACT))[-1].function.parameters
