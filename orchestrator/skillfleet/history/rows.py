"""Records as rows of the tables (pure)."""

from collections.abc import Mapping
from typing import Any

from skillfleet_workers.wire.plain_json import MOST_DEPTH

from ..conversations.messages import Message
from ..conversations.models import Conversation
from ..subagents.mailbox import AgentMessage
from ..subagents.transitions import state_of
from .moments import moment
from .reading import Turn
from .records import SkillExecution
from .texts import json_object

PROMPT_CHARS = 500


def conversation_row(conversation: Conversation, archived_to: str) -> dict[str, Any]:
    """`conversation`: where it stands; its messages are not needed."""
    spec, usage = conversation.spec, conversation.usage
    return {
        "agent_id": conversation.id,
        "status": conversation.status,
        "tenant": spec.tenant,
        "model": spec.model,
        "prompt": _prompt(spec.opening),
        "answer": conversation.answer,
        "parent_id": spec.parent_id,
        "root_id": conversation.root,
        "depth": spec.depth,
        "turns": conversation.turn,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost": usage.cost,
        "created_at": moment(spec.created_at),
        "completed_at": None if conversation.finished_at is None else moment(conversation.finished_at),
        "archived_to": archived_to,
        **_of_agent(conversation),
    }


def _of_agent(conversation: Conversation) -> dict[str, Any]:
    agent, problem = conversation.spec.agent, conversation.error
    told = json_object(conversation.answer or "", MOST_DEPTH + 2) if agent and agent.skill else None
    results = (told or {}).get("results")
    return {
        "name": agent.name if agent else "",
        "state": state_of(conversation.status, started=conversation.started_at is not None or conversation.turn > 0),
        "assigned_skill": agent.skill or None if agent else None,
        "skill_params": agent.params if agent else {},
        "results": results if isinstance(results, dict) else {},
        "error": f"{problem.code}: {problem.message}" if problem else None,
        "started_at": None if conversation.started_at is None else moment(conversation.started_at),
        "metadata": agent.metadata if agent else {},
    }


def _prompt(opening: tuple[Message, ...]) -> str:
    asked = (message.content or "" for message in reversed(opening) if message.role == "user")
    return next(asked, "")[:PROMPT_CHARS]


def turn_row(agent_id: str, turn: Turn) -> dict[str, Any]:
    return {
        "agent_id": agent_id,
        "turn": turn.turn,
        "model": turn.model,
        "started_at": turn.started_at,
        "message": turn.message,
    }


def turn_of(row: Mapping[str, Any]) -> Turn:
    return Turn(row["turn"], row["model"], row["started_at"], row["message"])


def execution_row(execution: SkillExecution) -> dict[str, Any]:
    return {**dict(execution), "status": execution.status.value, "duration_ms": execution.duration_ms}


def message_row(message: AgentMessage, conversation: Conversation) -> dict[str, Any]:
    return {
        **{name: value for name, value in message if name != "root"},
        "message_type": message.message_type.value,
        "timestamp": moment(message.timestamp),
        "root_id": conversation.root,
        "tenant": conversation.spec.tenant,
    }
