"""`context: fork`: the child conversation that works on an activated skill, and what its parent is told (pure)."""

from typing import Any

from skillfleet_workers.wire.calls import CallResult
from skillfleet_workers.wire.contract import CallRef, Governing, ScriptTool, ToolError
from skillfleet_workers.wire.shown import output_tail, short, shown_to_model

from ..conversations.limits import Limits
from ..conversations.models import NO_MODELS, Conversation, ConversationSpec
from ..conversations.runs import ActivatedSkill, ToolRun
from ..llm.prompts import opening
from ..tools.own import ASK_USER
from ..tools.scripts import with_scripts

MAX_DEPTH = 3
"""Most conversations that stand above a child; deeper, a skill is shown to whoever activates it, as any other."""

NO_ARGUMENTS = "Carry out the skill's instructions."
LEAST_TIMEOUT_S = 0.001
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
    left_s = min(asked.limits.timeout_s, max(LEAST_TIMEOUT_S, parent.deadline - now))
    own: dict[str, Any] = {
        "id": run.child,
        "parent_id": parent.id,
        "parent_call": run.ref.call_id,
        "depth": asked.depth + 1,
        "snapshot": parent.snapshot,
        "model": asked.model if governing.model in NO_MODELS else governing.model,
        "script": asked.script and _script_of(asked.script, governing.skill),
        "script_start": 0,
        "opening": opening(
            str(run.request.get("arguments") or "").strip() or NO_ARGUMENTS, content, may_ask=may_ask(asked)
        ),
        "limits": Limits(max_turns=asked.limits.max_turns, timeout_s=left_s, wait_s=asked.limits.wait_s),
        "scripts": (),
        "activated": (ActivatedSkill(governing=governing),),
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
    if child.status == "completed":
        answer = child.answer or ""
        return CallResult(status="succeeded", shown=answer, tail=short(answer, TAIL_CHARS))
    (skill, *_) = (active.governing.skill for active in child.spec.activated)
    why = f": {child.error.message} {child.error.fix}".rstrip() if child.error else "."
    error = ToolError(
        error=f"child_{child.status}",
        message=f"The conversation that carried out the skill {skill} {_ENDED[child.status]}{why}",
        fix="Go about it in another way, or tell the user why it was not done.",
    )
    return CallResult(status="tool_error", shown=shown_to_model(error), tail=output_tail(error))


def _script_of(script: dict[str, Any], skill: str) -> dict[str, Any]:
    """A scripted parent's script holds the replies of its children too."""
    children = script.get("children", {})
    return {"replies": children.get(skill, []), "children": children}
