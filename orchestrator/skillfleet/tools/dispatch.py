"""What a model's tool call means: a task with a checked request, or an error the model can correct (pure)."""

import json
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from skillfleet_workers.wire.contract import TASK_BY_TOOL, TaskSpec, ToolError

from ..conversations.messages import FunctionCall


@dataclass(frozen=True, slots=True)
class Dispatch:
    spec: TaskSpec[Any]
    request: dict[str, Any]


def dispatch(call: FunctionCall, offered: frozenset[str]) -> Dispatch | ToolError:
    """`offered`: the names of the tools that this conversation was given."""
    spec = TASK_BY_TOOL.get(call.name)
    if spec is None or call.name not in offered:
        return ToolError(
            error="unknown_tool",
            message=f"There is no tool {call.name!r}.",
            fix=f"Call one of: {', '.join(sorted(offered))}.",
        )
    try:
        arguments = json.loads(call.arguments or "{}")
        json.dumps(arguments, ensure_ascii=False).encode()  # Half a surrogate pair passes as JSON, but is no text.
    except (ValueError, RecursionError) as wrong:
        return _malformed(call, f"are not JSON: {wrong}")
    if not isinstance(arguments, dict):
        return _malformed(call, "are not a JSON object")
    if unknown := sorted(arguments.keys() - spec.request.model_fields.keys()):
        return _malformed(call, f"do not fit: it has no parameter {unknown[0]!r}")
    try:
        request = spec.request.model_validate(arguments)
    except ValidationError as wrong:
        return _malformed(call, f"do not fit: {_first_problem(wrong)}")
    return Dispatch(spec, request.model_dump(mode="json", exclude_unset=True, exclude_none=True))


def _malformed(call: FunctionCall, why: str) -> ToolError:
    return ToolError(
        error="malformed_arguments",
        message=f"The arguments of {call.name} {why}.",
        fix="Call it again with one JSON object that fits the tool's parameters.",
    )


def _first_problem(wrong: ValidationError) -> str:
    problem = wrong.errors(include_url=False, include_input=False, include_context=False)[0]
    return f"{'.'.join(map(str, problem['loc'])) or 'the object'}: {problem['msg']}"
