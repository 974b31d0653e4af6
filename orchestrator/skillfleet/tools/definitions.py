"""Tool definitions, derived from the contract's request models: one truth (pure)."""

import inspect
from typing import Any

from skillfleet_workers.wire.contract import TASKS, TaskSpec

from ..conversations.messages import FunctionDefinition, ToolDefinition


def definition(spec: TaskSpec[Any]) -> ToolDefinition:
    schema = spec.request.model_json_schema()
    description = " ".join(inspect.cleandoc(schema.pop("description", "")).split())
    parameters = {
        "type": "object",
        "properties": {name: _property(field) for name, field in schema.get("properties", {}).items()},
        "required": schema.get("required", []),
    }
    return ToolDefinition(function=FunctionDefinition(name=spec.tool, description=description, parameters=parameters))


def all_definitions() -> tuple[ToolDefinition, ...]:
    return tuple(definition(spec) for spec in TASKS)


def _property(field: dict[str, Any]) -> dict[str, Any]:
    """Without what only pydantic needs: titles, and null as a type of optional parameters."""
    plain = {name: value for name, value in field.items() if name not in ("title", "default", "anyOf")}
    if field.get("default") is not None:
        plain["default"] = field["default"]
    for choice in field.get("anyOf", ()):
        if choice.get("type") != "null":
            plain |= choice
    return plain
