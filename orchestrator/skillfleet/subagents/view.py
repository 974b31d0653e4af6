"""A conversation as the Subagent of seed 002 (pure)."""

import json
from datetime import UTC, datetime
from typing import Any, Self

from pydantic import Field, JsonValue

from skillfleet_workers.wire.contract import EXECUTE_CODE, RUN_PYTHON, RUN_SCRIPT
from skillfleet_workers.wire.shown import short
from skillfleet_workers.wire.versions import split

from ..conversations.limits import ConversationModel
from ..conversations.models import Conversation
from ..conversations.runs import ToolRun
from .models import MAX_ERROR_CHARS, MAX_METADATA_KEYS, MAX_NAME_CHARS, AgentState
from .transitions import state_of

_RUNS_CODE = {spec.tool for spec in (RUN_SCRIPT, RUN_PYTHON, EXECUTE_CODE)}


class Subagent(ConversationModel):
    """`assigned_skill`, `skill_params`: what it was assigned; of a chain, the step that runs now. `results`: what the
    last run of each skill has come to; `answer`: its last word, of one with a model. `root`: the conversation at the
    top of its tree, `depth`: how many stand above it, `children`: the agent_ids of those that it began."""

    agent_id: str
    name: str = Field(default="", max_length=MAX_NAME_CHARS)
    state: AgentState
    assigned_skill: str | None = None
    skill_params: dict[str, JsonValue] = Field(default_factory=dict)
    results: dict[str, dict[str, JsonValue]] = Field(default_factory=dict)
    answer: str | None = None
    error: str | None = Field(default=None, max_length=MAX_ERROR_CHARS)
    created_at: datetime
    started_at: datetime | None = None
    completed_at: datetime | None = None
    metadata: dict[str, JsonValue] = Field(default_factory=dict, max_length=MAX_METADATA_KEYS)
    parent_id: str | None = None
    root: str
    depth: int = 0
    children: tuple[str, ...] = ()
    tenant: str

    @classmethod
    def of(cls, conversation: Conversation) -> Self:
        spec, agent = conversation.spec, conversation.spec.agent
        skill, params = _assigned(conversation)
        return cls(
            agent_id=conversation.id,
            name=agent.name if agent else "",
            state=agent_state(conversation),
            assigned_skill=skill,
            skill_params=params,
            results=_results(conversation),
            answer=None if agent and agent.steps else conversation.answer,
            error=short(conversation.error.message, MAX_ERROR_CHARS) if conversation.error else None,
            created_at=_time(spec.created_at),
            started_at=_time(conversation.started_at),
            completed_at=_time(conversation.finished_at),
            metadata=agent.metadata if agent else {},
            parent_id=spec.parent_id if spec.parent_call else None,
            root=conversation.root,
            depth=spec.depth,
            children=children_of(conversation),
            tenant=spec.tenant,
        )


def is_subagent(conversation: Conversation) -> bool:
    """Another one began it, or it runs skills without a model."""
    return bool(conversation.spec.parent_call) or conversation.spec.agent is not None


def agent_state(conversation: Conversation) -> AgentState:
    started = conversation.started_at is not None or conversation.turn > 0
    return state_of(conversation.status, started=started)


def children_of(conversation: Conversation) -> tuple[str, ...]:
    """In the order in which they were begun."""
    of_runs = (run.child for run in conversation.runs if run.child)
    return tuple(dict.fromkeys([*(child.id for child in conversation.children), *of_runs]))


def _assigned(conversation: Conversation) -> tuple[str | None, dict[str, JsonValue]]:
    agent, governing = conversation.spec.agent, conversation.governing
    if agent is None or not agent.skill:
        return governing.skill if governing else None, {}
    step = next((run for run in conversation.out if run.skill), None) if agent.steps else None
    if step is None or step.skill is None:
        return agent.skill, agent.params
    return split(step.skill)[0], _object(step.request.get("arguments")) or {}


def _results(conversation: Conversation) -> dict[str, dict[str, JsonValue]]:
    agent = conversation.spec.agent
    answer = _object(conversation.answer) if agent and agent.steps else None
    told = _object((answer or {}).get("results"))
    if told is not None:
        return {skill: value if isinstance(value, dict) else {"output": value} for skill, value in told.items()}
    shown = _shown(conversation)
    runs = (run for run in conversation.runs if run.skill and run.status and _brings_results(run))
    found = ((split(run.skill or "")[0], shown.get((run.ref.turn, run.tool_call_id))) for run in runs)
    return {skill: _result(text) for skill, text in found if text is not None}


def _brings_results(run: ToolRun) -> bool:
    return bool(run.child) or (run.tool or run.name) in _RUNS_CODE


def _shown(conversation: Conversation) -> dict[tuple[int, str], str]:
    """By turn and tool_call_id: what calls have come to, as it stands in the transcript."""
    found, turn = dict[tuple[int, str], str](), 0
    for message in conversation.messages[len(conversation.spec.opening) :]:
        if message.role == "assistant":
            turn += 1
        elif message.role == "tool":
            found[turn, message.tool_call_id or ""] = message.content or ""
    return found


def _result(shown: str) -> dict[str, JsonValue]:
    """Of a run that has succeeded the object that its script gave, else all that is known of it."""
    told = _object(shown)
    if told is None:
        return {"output": shown}
    given = (told.get("result"), told.get("stdout")) if told.get("status") == "succeeded" else ()
    return next((found for one in given if (found := _object(one)) is not None), told)


def _object(value: Any) -> dict[str, Any] | None:
    """A JSON object, or the text of one; None: it is none."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def _time(at: float | None) -> Any:
    return None if at is None else datetime.fromtimestamp(at, UTC)
