"""What a model's tool call means: a task with a checked request, or an error the model can correct (pure)."""

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from skillfleet_workers.wire.contract import (
    ACTIVATE,
    RUN_SCRIPT,
    TASK_BY_TOOL,
    Governing,
    TaskSpec,
    ToolError,
    WireModel,
)
from skillfleet_workers.wire.plain_json import parsed
from skillfleet_workers.wire.published import Snapshot

from ..conversations.messages import FunctionCall
from ..conversations.models import Conversation
from ..conversations.trimming import has_more
from .catalog import still_stands
from .own import BEGINNING, OWN_TOOLS, READ_OUTPUT, OwnTool
from .policy import refusal


@dataclass(frozen=True, slots=True)
class Dispatch:
    spec: TaskSpec[Any]
    request: dict[str, Any]


@dataclass(frozen=True, slots=True)
class OwnCall:
    """Of a tool that reads the conversation itself: no worker is asked."""

    own: OwnTool
    request: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ActiveAgain:
    """The skill's instructions stand in the transcript: it governs again, and no worker is asked."""

    request: dict[str, Any]
    governing: Governing
    shown: str


Meaning = Dispatch | OwnCall | ActiveAgain | ToolError


def dispatch(call: FunctionCall, conversation: Conversation, snapshot: Snapshot | None = None) -> Meaning:
    """Only what this conversation was offered, and what the skill that governs it allows. `snapshot`: the skills that
    its model was asked with."""
    meant = _meant(call, conversation)
    if isinstance(meant, OwnCall) and meant.own in BEGINNING:  # no skill governs the child
        return refusal(call.name, meant.own, meant.request, conversation) or meant
    if not isinstance(meant, Dispatch):
        return meant
    if meant.spec is ACTIVATE:
        return _active_again(meant.request, conversation, snapshot) or meant
    return refusal(call.name, meant.spec, meant.request, conversation) or meant


def _active_again(
    request: dict[str, Any], conversation: Conversation, snapshot: Snapshot | None
) -> ActiveAgain | None:
    governing = still_stands(conversation.activated, request["name"], snapshot)
    if governing is None:
        return None
    told = f"The skill {governing.skill} is active again; its instructions stand above."
    arguments = request.get("arguments")
    return ActiveAgain(request, governing, f"{told}\n\nARGUMENTS: {arguments}" if arguments else told)


def _meant(call: FunctionCall, conversation: Conversation) -> Dispatch | OwnCall | ToolError:
    """Only the tools of its spec, scripts of skills that it has read, and `read_output` where there is use for it."""
    scripts = {script.name: script for script in conversation.scripts}
    tools = {tool.function.name for tool in conversation.spec.tools}
    if call.name == READ_OUTPUT.tool and has_more(conversation):
        tools.add(call.name)
    if call.name in OWN_TOOLS and call.name in tools:
        own = OWN_TOOLS[call.name]
        request = _checked(call, own.request, {})
        return request if isinstance(request, ToolError) else OwnCall(own, request)
    if call.name in TASK_BY_TOOL and call.name in tools | scripts.keys():
        return _dispatch(call, TASK_BY_TOOL[call.name], {})
    if call.name in scripts:
        return _dispatch(call, RUN_SCRIPT, scripts[call.name].given)
    return ToolError(
        error="unknown_tool",
        message=f"There is no tool {call.name!r}.",
        fix=f"Call one of: {', '.join(sorted(tools | scripts.keys()))}.",
    )


def _dispatch(call: FunctionCall, spec: TaskSpec[Any], given: dict[str, str]) -> Dispatch | ToolError:
    request = _checked(call, spec.request, given)
    return request if isinstance(request, ToolError) else Dispatch(spec, request)


def _checked(call: FunctionCall, form: type[WireModel], given: dict[str, str]) -> dict[str, Any] | ToolError:
    """`given`: arguments that are not the model's to fill in."""
    try:
        arguments = parsed(call.arguments or "{}")
    except (ValueError, RecursionError) as wrong:
        return _malformed(call.name, f"are not JSON: {wrong}")
    if not isinstance(arguments, dict):
        return _malformed(call.name, "are not a JSON object")
    if unknown := sorted(arguments.keys() - (form.model_fields.keys() - given.keys())):
        return _malformed(call.name, f"do not fit: it has no parameter {unknown[0]!r}")
    try:
        request = form.model_validate(arguments | given)
    except ValidationError as wrong:
        return misfit(call.name, wrong)
    return request.model_dump(mode="json", exclude_unset=True, exclude_none=True)


def misfit(name: str, wrong: ValidationError) -> ToolError:
    return _malformed(name, f"do not fit: {_first_problem(wrong)}")


def _malformed(name: str, why: str) -> ToolError:
    return ToolError(
        error="malformed_arguments",
        message=f"The arguments of {name} {why}.",
        fix="Call it again with one JSON object that fits the tool's parameters.",
    )


def _first_problem(wrong: ValidationError) -> str:
    problem = wrong.errors(include_url=False, include_input=False, include_context=False)[0]
    return f"{'.'.join(map(str, problem['loc'])) or 'the object'}: {problem['msg'].removeprefix('Value error, ')}"
