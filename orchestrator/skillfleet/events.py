"""The event stream of a conversation: what happened, in order, without a gap. Followers and history read it."""

import json
from dataclasses import dataclass
from typing import Any, Literal

from skillfleet_workers.wire.shown import readable_arguments

from .conversations.messages import Message
from .conversations.models import Conversation, ToolRun
from .conversations.moves import CallModel, Effect, RunTool

EntryType = Literal[
    "submitted", "message", "turn", "call", "started", "progress", "result", "paused", "resumed", "ended"
]


@dataclass(frozen=True, slots=True)
class Entry:
    """`submitted`: the spec's summary; `message`: one Message of the transcript; `turn`: the model is asked;
    `call`: a call was sent; `started`, `progress` (what it is busy with before its script runs), `result`: by the
    worker; `paused`, `resumed`: from here on nothing new is started, or it is again; `ended`: the terminal status,
    once.

    `cursor` is where a follower reads on; `at` is seconds since the epoch.
    """

    seq: int
    at: float
    type: EntryType
    data: dict[str, Any]
    cursor: str = ""


Told = tuple[EntryType, str]
"""An entry that is not in the stream yet: its type and the JSON of its data."""


def opening(conversation: Conversation) -> list[Told]:
    spec = conversation.spec
    summary = {"model": spec.model, "skills": spec.skills, "limits": spec.limits.model_dump()}
    return [("submitted", json.dumps(summary)), *(_message(m) for m in spec.opening)]


def changes(before: Conversation, after: Conversation, effects: list[Effect]) -> list[Told]:
    """What a step adds to the stream."""
    added = after.messages[len(before.messages) :]
    told = [_message(message) for message in added]
    if (before.status == "paused") != (after.status == "paused") and not after.terminal:
        told.insert(0, ("paused" if after.status == "paused" else "resumed", "{}"))
    known = {run.key for run in before.runs if run.status}
    told += [_decided(run, added) for run in after.runs if run.key not in known and _by_engine(run)]
    told += [_call(effect.run) for effect in effects if isinstance(effect, RunTool)]
    if any(isinstance(effect, CallModel) for effect in effects):
        told.append(("turn", json.dumps({"turn": after.turn + 1})))
    if after.terminal and not before.terminal:
        told.append(("ended", json.dumps(_ending(after))))
    return told


def _message(message: Message) -> Told:
    return "message", message.model_dump_json(exclude_none=True)


def _call(run: ToolRun) -> Told:
    about = {
        "key": run.key,
        "name": run.name,
        "attempt": run.ref.attempt,
        "arguments": readable_arguments(run.request),
    }
    return "call", json.dumps(about)


def _by_engine(run: ToolRun) -> bool:
    """Refused before it was sent, given up as lost, or cancelled: no worker tells of it."""
    return run.status in ("tool_error", "lost", "cancelled") and not run.worker


def _decided(run: ToolRun, added: tuple[Message, ...]) -> Told:
    answers = (message.content for message in added if message.tool_call_id == run.tool_call_id)
    error = json.loads(run.shown or next(answers, None) or "{}")
    about = {"key": run.key, "name": run.name, "status": run.status, "tail": error.get("message", "")}
    return "result", json.dumps(about)


def _ending(conversation: Conversation) -> dict[str, Any]:
    return {
        "status": conversation.status,
        "answer": conversation.answer,
        "error": conversation.error.model_dump() if conversation.error else None,
    }
