"""The tools as a model sees them."""

import pytest

from skillfleet.conversations.messages import ToolDefinition
from skillfleet.tools.definitions import all_definitions
from skillfleet_workers.wire.contract import TASKS

BY_NAME = {tool.function.name: tool for tool in all_definitions()}


def test_every_task_is_offered_under_its_name_but_those_that_wait_for_a_skill_with_a_use_for_them() -> None:
    assert list(BY_NAME) == [spec.tool for spec in TASKS if not spec.on_demand]
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
    allowed = {"type", "description", "default", "minimum", "maximum", "items", "additionalProperties"}
    assert all(set(field) <= allowed and field["type"] for field in parameters["properties"].values())


def test_an_optional_parameter_is_not_required_and_has_no_null() -> None:
    parameters = BY_NAME["run_python_script"].function.parameters
    assert parameters["required"] == ["skill_name", "script"]
    timeout = parameters["properties"]["timeout"]
    assert (timeout["type"], timeout["minimum"]) == ("integer", 1)
    assert "default" not in timeout


def test_a_definition_survives_storage() -> None:
    assert all(ToolDefinition.model_validate_json(tool.model_dump_json()) == tool for tool in BY_NAME.values())
