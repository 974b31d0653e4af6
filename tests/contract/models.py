"""Every model that crosses processes, or is stored."""

from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel

from skillfleet.conversations.messages import Message
from skillfleet.conversations.models import Conversation
from skillfleet.subagents.mailbox import AgentMessage
from skillfleet_workers.wire.calls import CallResult
from skillfleet_workers.wire.contract import (
    TASKS,
    CallMessage,
    CallRef,
    Document,
    Governing,
    ScriptTool,
    SkillContent,
    SkillList,
    SkillSummary,
    ToolError,
    UsedSkill,
)
from skillfleet_workers.wire.execution import Artifact, ScriptExecution
from skillfleet_workers.wire.files import StoredFile
from skillfleet_workers.wire.kept import KeptRun
from skillfleet_workers.wire.presence import LiveProcess
from skillfleet_workers.wire.published import PublishedSkill, Snapshot

WIRE: tuple[type[BaseModel], ...] = (
    *(spec.request for spec in TASKS),
    SkillSummary,
    SkillList,
    ScriptTool,
    Document,
    UsedSkill,
    Governing,
    SkillContent,
    ToolError,
    Artifact,
    StoredFile,
    ScriptExecution,
    CallRef,
    CallMessage,
    CallResult,
    KeptRun,
    LiveProcess,
    PublishedSkill,
    Snapshot,
)
STORED: tuple[type[BaseModel], ...] = (Message, Conversation, AgentMessage)
"""Kept in the ledger: a conversation outlives an upgrade, and so does its mailbox."""

MODELS = {model.__name__: model for model in (*WIRE, *STORED)}


def with_parts(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """The model, and those that its fields are made of."""
    yield model
    for field in model.model_fields.values():
        for part in _models(field.annotation):
            yield from with_parts(part)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)
