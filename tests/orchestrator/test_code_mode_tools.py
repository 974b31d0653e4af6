"""The two tools of code mode, offered once a skill with a spec was read."""

from tests.conversation_steps import after, asks, awaiting_calls, call, last_effects, make_spec
from tests.openai_rules import why_refused

from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import RunTool, ToolFinished
from skillfleet.tools.definitions import all_definitions, offered
from skillfleet.tools.scripts import MAX_HINTS_CHARS, with_scripts
from skillfleet_workers.wire.contract import EXECUTE_CODE, RUN_SCRIPT, SEARCH_SPEC, ScriptTool


def hinted(skill: str, hint: str = "spec is {paths}") -> tuple[ScriptTool, ...]:
    return tuple(
        ScriptTool(tool=tool.tool, script="", description=f"in {skill}, {hint}.", language="python")
        for tool in (SEARCH_SPEC, EXECUTE_CODE)
    )


def reads(key: str, skill: str) -> ToolFinished:
    return ToolFinished(key, "succeeded", "# Api", "w1", tools=hinted(skill))


BOTH = [SEARCH_SPEC.tool, EXECUTE_CODE.tool]
BEFORE = awaiting_calls(call("get_skill", skill_name="api"), call("get_skill", "b", skill_name="geo"))
READER = after(BEFORE, reads("1.0", "api"), reads("1.1", "geo"))


def names(conversation: Conversation) -> list[str]:
    return [tool.function.name for tool in offered(conversation)]


def test_they_are_not_there_before() -> None:
    assert not set(BOTH) & set(names(BEFORE))
    refused = after(BEFORE, ToolFinished("1.0", "succeeded", ""), ToolFinished("1.1", "succeeded", ""))
    assert after(refused, asks(call("search", skill_name="api", code="spec"))).runs[-1].status == "tool_error"


def test_there_are_two_however_many_skills_have_a_spec_and_they_tell_of_each() -> None:
    assert names(READER)[-2:] == BOTH and len(names(READER)) == len(names(BEFORE)) + 2
    for tool in offered(READER)[-2:]:
        assert tool.function.description.endswith("in api, spec is {paths}. in geo, spec is {paths}.")
        assert tool.function.parameters["required"] == ["skill_name", "code"]
        assert set(tool.function.parameters["properties"]) == {"skill_name", "code", "timeout"}


def test_a_skill_that_is_read_again_tells_nothing_twice() -> None:
    again = with_scripts(READER, "api", hinted("api"))
    assert again == READER
    changed = with_scripts(READER, "api", hinted("api", "spec is {tags}"))
    assert offered(changed)[-1].function.description.endswith("in geo, spec is {paths}. in api, spec is {tags}.")


def test_what_they_tell_has_an_end() -> None:
    conversation = READER
    for number in range(100):
        conversation = with_scripts(conversation, f"s{number}", hinted(f"s{number}", "x" * 300))
    assert names(conversation) == names(READER)
    assert all(len(script.description) <= MAX_HINTS_CHARS for script in conversation.scripts)


def test_a_call_of_one_is_its_task() -> None:
    (search, execute) = last_effects(
        READER,
        asks(
            call("search", "x", skill_name="api", code="spec"),
            call("execute", "y", skill_name="geo", code="ctx", timeout=9),
        ),
    )
    assert isinstance(search, RunTool) and isinstance(execute, RunTool)
    assert (search.run.task, search.run.request) == (SEARCH_SPEC, {"skill_name": "api", "code": "spec"})
    assert (execute.run.task, execute.run.request["timeout"], execute.run.skill) == (EXECUTE_CODE, 9, "geo")


def test_a_conversation_that_may_run_no_code_is_offered_neither() -> None:
    spec = make_spec()
    few = tuple(tool for tool in spec.tools if tool.function.name in ("get_skill", RUN_SCRIPT.tool))
    reader = Conversation(spec=spec.model_copy(update={"tools": few}))
    assert with_scripts(reader, "api", hinted("api")).scripts == ()


def test_a_script_of_a_skill_can_have_a_tool_beside_them() -> None:
    own = ScriptTool(tool="api__search", script="scripts/search.py", language="python")
    both = with_scripts(READER, "api", (*hinted("api"), own))
    assert names(both)[-3:] == [*BOTH, "api__search"]


def test_what_is_stored_of_them_is_read_again() -> None:
    assert Conversation.model_validate_json(READER.model_dump_json()) == READER


def test_a_request_with_them_is_what_a_provider_takes() -> None:
    tools = [tool.model_dump(mode="json") for tool in offered(READER)]
    request = {"model": "m", "messages": [message.wire() for message in READER.messages], "tools": tools}
    assert why_refused(request) is None
    assert not set(BOTH) & {tool.function.name for tool in all_definitions()}
