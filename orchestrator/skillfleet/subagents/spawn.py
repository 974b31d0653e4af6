"""`spawn_subagent`: what is asked for with it, and the child conversation that comes of it (pure)."""

import json
from collections.abc import Iterable
from typing import Any

from skillfleet_workers.wire.contract import RUN_SCRIPT, CallRef, ToolError
from skillfleet_workers.wire.published import Snapshot
from skillfleet_workers.wire.versions import split

from ..conversations.limits import Limits
from ..conversations.models import Conversation, ConversationSpec
from ..llm.prompts import opening, prompted, subagent_prompt
from ..tools.definitions import definition
from ..tools.own import PUBLISH
from .chain import chained
from .fork import born_of, child_may_spawn, images_of, may_ask, replies_of
from .models import MAX_METADATA_KEYS, AgentSpec, ChildRun

PROMPT_OR_SKILL = ToolError(
    error="malformed_arguments",
    message="spawn_subagent takes either a prompt, for a model of its own, or a skill, which runs without one.",
    fix="Call it again with exactly one of `prompt` and `skill`; `params` go with a skill, `skills` with a prompt.",
)
TOO_MUCH_METADATA = ToolError(
    error="malformed_arguments",
    message=f"The metadata of a subagent have at most {MAX_METADATA_KEYS} keys.",
    fix="Call it again with fewer.",
)


def asked_of(
    request: dict[str, Any], conversation: Conversation, snapshot: Snapshot | None
) -> dict[str, Any] | ToolError:
    """The request of `spawn_subagent` as it is kept: of a skill, with the `steps` that it takes.

    `snapshot`: the skills that the conversation keeps to, None: not known."""
    prompt, skill = str(request.get("prompt") or "").strip(), str(request.get("skill") or "")
    if bool(prompt) == bool(skill) or (prompt and "params" in request) or (skill and "skills" in request):
        return PROMPT_OR_SKILL
    if len(request.get("metadata", {})) > MAX_METADATA_KEYS:
        return TOO_MUCH_METADATA
    allowed = conversation.spec.skills
    if prompt:
        return _not_allowed(request.get("skills", ()), allowed) or request
    if refused := _not_allowed([skill], allowed):
        return refused
    steps = chained(snapshot or Snapshot(), skill, request.get("params", {}))
    if isinstance(steps, ToolError):
        return steps
    kept = {"steps": [step.model_dump(mode="json", exclude_defaults=True) for step in steps]}
    return _not_allowed([step.skill for step in steps], allowed) or request | kept


def _not_allowed(wanted: Iterable[str], allowed: tuple[str, ...] | None) -> ToolError | None:
    """A child may use no skill that its parent may not."""
    if allowed is None:
        return None
    refused = [name for name in wanted if name not in allowed and split(name)[0] not in allowed]
    if not refused:
        return None
    return ToolError(
        error="skill_not_allowed",
        message=f"This conversation may not use the skill {refused[0]!r}, and neither may its subagents.",
        fix=f"Use one of: {', '.join(allowed)}." if allowed else "Go about it without skills.",
    )


def spawned_spec(parent: Conversation, child: ChildRun, limits: Limits) -> ConversationSpec:
    request, asked = child.request, parent.spec
    call = CallRef.of_call(f"{parent.id}.{child.key}")
    agent = AgentSpec.model_validate({name: request[name] for name in AgentSpec.model_fields if name in request})
    if agent.steps:
        told = f"Run the skill {agent.skill} with {json.dumps(agent.params, ensure_ascii=False)}."
        tools = (definition(RUN_SCRIPT), definition(PUBLISH))
        return born_of(parent, call, limits, agent=agent, script=None, opening=(prompted(told),), tools=tools)
    skills = request.get("skills")
    return born_of(
        parent,
        call,
        limits,
        agent=agent,
        script=asked.script and replies_of(asked.script, child.key, child.name),
        skills=asked.skills if skills is None else tuple(skills),
        opening=opening(
            request["prompt"],
            subagent_prompt(name=child.name, own_id=child.id, parent_id=parent.id),
            asked.files,
            images_of(asked),
            may_ask=may_ask(asked),
            subagents=child_may_spawn(parent),
        ),
    )
