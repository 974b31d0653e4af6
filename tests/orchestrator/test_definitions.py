"""The tools as a model sees them."""

import pytest
from tests import anthropic_rules, openai_rules

from skillfleet.conversations.messages import ToolDefinition
from skillfleet.llm import anthropic_request, openai_request
from skillfleet.llm.base import ModelRequest
from skillfleet.submission import Submission
from skillfleet.tools.definitions import all_definitions, definition
from skillfleet.tools.own import OWN_TOOLS, READ_OUTPUT
from skillfleet_workers.wire.contract import TASKS

OWN = [definition(own) for own in OWN_TOOLS.values()]
BY_NAME = {tool.function.name: tool for tool in (*all_definitions(), *OWN)}


def test_every_task_is_offered_under_its_name_but_those_that_wait_for_a_skill_with_a_use_for_them() -> None:
    offered = [tool.function.name for tool in all_definitions()]
    assert offered == [spec.tool for spec in TASKS if not spec.on_demand]
    assert {spec.tool for spec in TASKS if spec.on_demand} == {"search", "execute"}


@pytest.mark.parametrize("name", BY_NAME)
def test_a_tool_and_each_of_its_parameters_are_explained_in_one_line(name: str) -> None:
    function = BY_NAME[name].function
    explained = [function.description, *(p["description"] for p in function.parameters["properties"].values())]
    assert all(text and "\n" not in text and "  " not in text for text in explained)


@pytest.mark.parametrize("name", BY_NAME)
def test_parameters_are_plain_json_schema(name: str) -> None:
    parameters = BY_NAME[name].function.parameters
    assert set(parameters) == {"type", "properties", "required"}
    allowed = {"type", "description", "default", "minimum", "maximum", "items", "additionalProperties", "enum"}
    allowed |= {"minLength", "maxLength", "properties", "required"}
    assert all(set(field) <= allowed and field["type"] for field in parameters["properties"].values())


def test_an_optional_parameter_is_not_required_and_has_no_null() -> None:
    parameters = BY_NAME["run_python_script"].function.parameters
    assert parameters["required"] == ["skill_name", "script"]
    timeout = parameters["properties"]["timeout"]
    assert (timeout["type"], timeout["minimum"]) == ("integer", 1)
    assert "default" not in timeout


def test_a_definition_survives_storage() -> None:
    assert all(ToolDefinition.model_validate_json(tool.model_dump_json()) == tool for tool in BY_NAME.values())


def test_what_may_have_subagents_is_offered_their_tools_and_both_providers_take_them() -> None:
    spec = Submission.of({"prompt": "Go.", "subagents": True, "ask_user": True, "plans": True}).spec()
    assert {tool.function.name for tool in spec.tools} >= OWN_TOOLS.keys() - {"read_output"}
    request = ModelRequest(messages=spec.opening, tools=(*spec.tools, definition(READ_OUTPUT)), timeout_s=1.0)
    openai = openai_request.body_of(request, stream=True)
    assert openai_rules.why_refused(openai | {"model": "m"}) is None
    anthropic = anthropic_request.body_of(request, stream=True, max_output_tokens=9)
    assert anthropic_rules.why_refused({"anthropic-version": "2023-06-01"}, anthropic | {"model": "m"}) is None
    assert len(openai["tools"]) == len(anthropic["tools"]) == len(spec.tools) + 1


def test_what_may_have_none_is_offered_none_of_their_tools() -> None:
    spec = Submission.of({"prompt": "Go."}).spec()
    assert not {tool.function.name for tool in spec.tools} & OWN_TOOLS.keys()
    assert not spec.subagents
