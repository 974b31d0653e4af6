"""`context: fork`: the child conversation that works on an activated skill, and what its parent is told (pure)."""

from typing import Any

from skillfleet_workers.wire.artifacts import MAX_FILES
from skillfleet_workers.wire.calls import CallResult
from skillfleet_workers.wire.contract import CallRef, Governing, ScriptTool, ToolError
from skillfleet_workers.wire.execution import Artifact
from skillfleet_workers.wire.files import StoredFile
from skillfleet_workers.wire.shown import output_tail, short, shown_to_model

from ..conversations.budgets import calls_made, child_limits
from ..conversations.models import NO_MODELS, Conversation, ConversationSpec
from ..conversations.runs import ActivatedSkill, ToolRun
from ..llm.prompts import opening
from ..settings import REPLAY
from ..tools.own import ASK_USER
from ..tools.scripts import with_scripts

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


def child_spec(
    parent: Conversation, run: ToolRun, content: str, tools: tuple[ScriptTool, ...], now: float
) -> ConversationSpec:
    """`content`: the skill's instructions; `tools`: what it can run."""
    governing, asked = run.governing, parent.spec
    assert governing is not None
    replayed = asked.model.startswith(REPLAY)
    # What it has begun with counts, once it has begun.
    limits = child_limits(parent, now) or asked.limits
    own: dict[str, Any] = {
        "id": run.child,
        "parent_id": parent.id,
        "parent_call": run.ref.call_id,
        "depth": asked.depth + 1,
        "snapshot": parent.snapshot,
        "model": asked.model if replayed or governing.model in NO_MODELS else governing.model,
        "script": asked.script and _replies_of(asked.script, run, governing),
        "script_start": 0,
        "opening": opening(
            str(run.request.get("arguments") or "").strip() or NO_ARGUMENTS,
            content,
            asked.files,
            _images(asked),
            may_ask=may_ask(asked),
        ),
        "limits": limits,
        "scripts": (),
        "activated": (ActivatedSkill(governing=governing),),
        "answer_schema": None,
        "idempotency_key": "",
        "created_at": 0.0,
    }
    spec = asked.model_copy(update=own)
    offered = with_scripts(Conversation.begun(spec), run.skill or governing.skill, tools).scripts
    return spec.model_copy(update={"scripts": offered})


def may_ask(spec: ConversationSpec) -> bool:
    return any(tool.function.name == ASK_USER.tool for tool in spec.tools)


def outcome(child: Conversation) -> CallResult:
    """Of the parent's call, once the child has ended."""
    used: dict[str, Any] = {
        "usage": child.usage.model_dump(exclude_defaults=True),
        "calls": calls_made(child),
        "artifacts": _artifacts(child),
    }
    if child.status == "completed":
        answer = child.answer or ""
        return CallResult(status="succeeded", shown=answer, tail=short(answer, TAIL_CHARS), **used)
    (skill, *_) = (active.governing.skill for active in child.spec.activated)
    why = f": {child.error.message} {child.error.fix}".rstrip() if child.error else "."
    why += f" What it has come to: {child.answer}" if child.answer else ""
    error = ToolError(
        error=f"child_{child.status}",
        message=f"The conversation that carried out the skill {skill} {_ENDED[child.status]}{why}",
        fix="Go about it in another way, or tell the user why it was not done.",
    )
    return CallResult(status="tool_error", shown=shown_to_model(error), tail=output_tail(error), **used)


def _images(asked: ConversationSpec) -> tuple[StoredFile, ...]:
    """What the parent was shown when it was asked."""
    asking = (message for message in reversed(asked.opening) if message.role == "user")
    return next((message.attachments for message in asking if message.attachments), ())


def _artifacts(child: Conversation) -> tuple[Artifact, ...]:
    """What its calls have brought, of each path the newest."""
    found = {one.path: one for run in child.runs for one in run.artifacts}
    return tuple(found.values())[-MAX_FILES:]


def _replies_of(script: dict[str, Any], run: ToolRun, governing: Governing) -> dict[str, Any]:
    """A scripted parent's script holds the replies of its children too, by their skills; a recording those of the
    child that worked on this call then."""
    children: dict[str, Any] = script.get("children", {})
    if "turns" in script:
        recorded: dict[str, Any] = children.get(run.key, {})
        return recorded
    return {"replies": children.get(governing.skill, []), "children": children}
