"""Tool definitions, derived from the contract's request models: one truth (pure)."""

import inspect
import json
from functools import cache
from typing import Any, TypeGuard

from skillfleet_workers.wire.contract import ACTIVATE, RUN_SCRIPT, TASK_BY_TOOL, TASKS, TaskSpec

from ..conversations.messages import FunctionDefinition, ToolDefinition
from ..conversations.models import Conversation
from ..conversations.runs import OfferedScript
from ..conversations.trimming import has_more
from ..plans.drafts import draft_schema
from .own import EXECUTE_PLAN, READ_OUTPUT, OwnTool

MAX_SCHEMA_CHARS = 8_000
"""Of a script's arguments; what is longer costs more than it tells."""


def definition(spec: TaskSpec[Any] | OwnTool) -> ToolDefinition:
    tool = _definition(spec.tool, _explained(spec), spec, ())
    return _with_plan(tool) if spec is EXECUTE_PLAN else tool


def script_definition(script: OfferedScript) -> ToolDefinition:
    if own := TASK_BY_TOOL.get(script.name):
        return _definition(own.tool, f"{_explained(own)} {script.description}", own, ())
    what = f"Runs {script.script} of the skill {script.skill_name}."
    tool = _definition(script.name, f"{script.description} {what}", RUN_SCRIPT, tuple(script.given))
    return _with_schema(tool, script.parameters) if _is_accepted(script.parameters) else tool


@cache
def all_definitions() -> tuple[ToolDefinition, ...]:
    """Of the tools that every conversation may be offered from its start."""
    return tuple(definition(spec) for spec in TASKS if not spec.on_demand)


def offered(conversation: Conversation, *, activates: bool = True) -> tuple[ToolDefinition, ...]:
    """What the model may call in its next turn. `activates`: it knows of skills that it may activate."""
    tools = (tool for tool in conversation.spec.tools if activates or tool.function.name != ACTIVATE.tool)
    scripts = (script_definition(script) for script in conversation.scripts)
    return (*tools, *scripts, *([definition(READ_OUTPUT)] if has_more(conversation) else []))


def _explained(spec: TaskSpec[Any] | OwnTool) -> str:
    return inspect.cleandoc(spec.request.__doc__ or "")


def _definition(name: str, description: str, spec: TaskSpec[Any] | OwnTool, given: tuple[str, ...]) -> ToolDefinition:
    """`given`: parameters that are not the model's to fill in."""
    one_line, parameters = " ".join(description.split()), _parameters(spec, given)
    return ToolDefinition(function=FunctionDefinition(name=name, description=one_line, parameters=parameters))


@cache
def _parameters(spec: TaskSpec[Any] | OwnTool, given: tuple[str, ...]) -> dict[str, Any]:
    schema = spec.request.model_json_schema()
    fields = schema.get("properties", {}).items()
    return {
        "type": "object",
        "properties": {field: _property(about) for field, about in fields if field not in given},
        "required": [field for field in schema.get("required", []) if field not in given],
    }


def _is_accepted(schema: dict[str, Any] | None) -> TypeGuard[dict[str, Any]]:
    """Whether providers take it as the type of a parameter: they know no references."""
    if schema is None or schema.get("type") != "object":
        return False
    text = json.dumps(schema)
    return len(text) <= MAX_SCHEMA_CHARS and '"$ref"' not in text


def _with_schema(tool: ToolDefinition, schema: dict[str, Any]) -> ToolDefinition:
    """`arguments` as the script's skill describes them."""
    plain = tool.function.parameters
    known = {name: about for name, about in schema.items() if not name.startswith("$")}
    arguments = {"description": plain["properties"]["arguments"]["description"], **known}
    parameters = plain | {"properties": plain["properties"] | {"arguments": arguments}}
    if schema.get("required"):
        parameters["required"] = [*plain["required"], "arguments"]
    return ToolDefinition(function=tool.function.model_copy(update={"parameters": parameters}))


def _with_plan(tool: ToolDefinition) -> ToolDefinition:
    plain = tool.function.parameters
    schema = {"type": "object", **draft_schema()}
    about = {name: schema[name] for name in ("type", "description", "properties", "required", "additionalProperties")}
    properties = plain["properties"] | {"plan": about}
    function = tool.function.model_copy(update={"parameters": plain | {"properties": properties}})
    return ToolDefinition(function=function)


def _property(field: dict[str, Any]) -> dict[str, Any]:
    """Without what only pydantic needs: titles, and null as a type of optional parameters."""
    plain = {name: value for name, value in field.items() if name not in ("title", "default", "anyOf")}
    if field.get("default") is not None:
        plain["default"] = field["default"]
    for choice in field.get("anyOf", ()):
        if choice.get("type") != "null":
            plain |= choice
    return plain
