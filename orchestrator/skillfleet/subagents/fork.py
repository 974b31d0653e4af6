"""`context: fork`: the child conversation that works on an activated skill, and what its parent is told (pure)."""

from typing import Any

from skillfleet_workers.wire.artifacts import MAX_FILES
from skillfleet_workers.wire.calls import CallResult
from skillfleet_workers.wire.contract import CallRef, Governing, ScriptTool, ToolError
from skillfleet_workers.wire.execution import Artifact
from skillfleet_workers.wire.files import StoredFile
from skillfleet_workers.wire.shown import output_tail, short, shown_to_model

from ..conversations.budgets import calls_made, kept_for
from ..conversations.limits import Limits
from ..conversations.messages import ToolDefinition
from ..conversations.models import NO_MODELS, Conversation, ConversationSpec
from ..conversations.runs import ActivatedSkill, ToolRun
from ..llm.prompts import opening
from ..settings import REPLAY
from ..tools.own import ASK_USER, EXECUTE_PLAN, SPAWNING
from ..tools.scripts import with_scripts
from .models import MAX_NAME_CHARS, AgentSpec

MAX_DEPTH = 3
"""Most conversations that stand above a child; deeper, a skill is shown to whoever activates it, as any other."""

NO_ARGUMENTS = "Carry out the skill's instructions."
TAIL_CHARS = 400

_ENDED = {"failed": "failed", "cancelled": "was cancelled", "expired": "reached its limit"}


def forks(parent: Conversation, governing: Governing | None) -> bool:
    return governing is not None and governing.fork and parent.spec.depth < MAX_DEPTH


def child_id(ref: CallRef) -> str:
    return f"{ref.conversation_id}-{ref.turn}-{ref.index}"


def descends(conversation_id: str, from_id: str) -> bool:
    """It is a child of it, or a child's child."""
    return conversation_id.startswith(f"{from_id}-")


def born_of(parent: Conversation, call: CallRef, limits: Limits, **own: Any) -> ConversationSpec:
    """A child of this call, with what every child has of its parent, and what is its `own`."""
    asked = parent.spec
    depth = asked.depth + 1
    given: dict[str, Any] = {
        "id": child_id(call),
        "parent_id": parent.id,
        "parent_call": call.call_id,
        "depth": depth,
        "root": parent.root,
        "snapshot": parent.snapshot,
        "script_start": 0,
        "tools": asked.tools if depth < MAX_DEPTH else _without_spawning(asked.tools),
        "limits": limits,
        "scripts": (),
        "activated": (),
        "answer_schema": None,
        "idempotency_key": "",
        "created_at": 0.0,
    }
    return asked.model_copy(update=given | own)


def child_spec(
    parent: Conversation, run: ToolRun, content: str, tools: tuple[ScriptTool, ...], limits: Limits
) -> ConversationSpec:
    """`content`: the skill's instructions; `tools`: what it can run."""
    governing, asked = run.governing, parent.spec
    assert governing is not None
    replayed = asked.model.startswith(REPLAY)
    spec = born_of(
        parent,
        run.ref,
        limits,
        agent=AgentSpec(name=governing.skill[:MAX_NAME_CHARS]),
        model=asked.model if replayed or governing.model in NO_MODELS else governing.model,
        script=asked.script and replies_of(asked.script, run.key, governing.skill),
        opening=opening(
            str(run.request.get("arguments") or "").strip() or NO_ARGUMENTS,
            content,
            asked.files,
            images_of(asked),
            may_ask=may_ask(asked),
            subagents=child_may_spawn(parent),
        ),
        activated=(ActivatedSkill(governing=governing),),
    )
    offered = with_scripts(Conversation.begun(spec), run.skill or governing.skill, tools).scripts
    return spec.model_copy(update={"scripts": offered})


def _without_spawning(tools: tuple[ToolDefinition, ...]) -> tuple[ToolDefinition, ...]:
    return tuple(tool for tool in tools if tool.function.name not in {own.tool for own in (*SPAWNING, EXECUTE_PLAN)})


def child_may_spawn(parent: Conversation) -> bool:
    """With the tools for it."""
    return parent.spec.subagents and parent.spec.depth + 1 < MAX_DEPTH


def may_ask(spec: ConversationSpec) -> bool:
    return any(tool.function.name == ASK_USER.tool for tool in spec.tools)


def outcome(child: Conversation) -> CallResult:
    """Of the parent's call, once the child has ended."""
    used: dict[str, Any] = {
        "usage": child.usage.model_dump(exclude_defaults=True),
        "calls": calls_made(child),
        "kept": kept_for(child.children),
        "ended": child.status,
        "artifacts": _artifacts(child),
    }
    if child.status == "completed":
        answer = child.answer or ""
        return CallResult(status="succeeded", shown=answer, tail=short(answer, TAIL_CHARS), **used)
    if child.spec.plan and child.answer:  # its result tells more than an error would
        return CallResult(status="tool_error", shown=child.answer, tail=short(_told(child), TAIL_CHARS), **used)
    why = f": {child.error.message} {child.error.fix}".rstrip() if child.error else "."
    why += f" What it has come to: {child.answer}" if child.answer else ""
    error = ToolError(
        error=f"child_{child.status}",
        message=f"{_worker_of(child.spec)} {_ENDED[child.status]}{why}",
        fix="Go about it in another way, or tell the user why it was not done.",
    )
    return CallResult(status="tool_error", shown=shown_to_model(error), tail=output_tail(error), **used)


def _told(child: Conversation) -> str:
    return child.error.message if child.error else str(child.answer)


def _worker_of(spec: ConversationSpec) -> str:
    for active in spec.activated:
        return f"The conversation that carried out the skill {active.governing.skill}"
    name = spec.agent and (spec.agent.name or spec.agent.skill)
    return f"The subagent {name or spec.id}"


def images_of(asked: ConversationSpec) -> tuple[StoredFile, ...]:
    """What the parent was shown when it was asked."""
    asking = (message for message in reversed(asked.opening) if message.role == "user")
    return next((message.attachments for message in asking if message.attachments), ())


def _artifacts(child: Conversation) -> tuple[Artifact, ...]:
    """What its calls have brought, of each path the newest."""
    found = {one.path: one for run in child.runs for one in run.artifacts}
    return tuple(found.values())[-MAX_FILES:]


def replies_of(script: dict[str, Any], key: str, *names: str) -> dict[str, Any]:
    """A scripted parent's script holds the replies of its children too, by the first of their `names` that it knows;
    a recording those of the child that this call began then."""
    children: dict[str, Any] = script.get("children", {})
    if "turns" in script:
        recorded: dict[str, Any] = children.get(key, {})
        return recorded
    replies: list[Any] = next((children[name] for name in names if name in children), [])
    return {"replies": replies, "children": children}
