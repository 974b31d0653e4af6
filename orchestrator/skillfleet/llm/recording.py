"""A recorded conversation, as a file: what its model was asked in each turn, and what it said."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from skillfleet_workers.wire.contract import CallRef, UsedSkill
from skillfleet_workers.wire.uuids import uuid_of

from ..conversations.limits import Problem
from ..conversations.messages import Message
from ..conversations.recorded import Asked
from ..subagents.mailbox import correlation_of


class Recording(BaseModel):
    """`prompt`, `system`, `skills`, `subagents` and `answer_schema` (in the file: `schema`): as it was submitted.
    `messages`: its transcript; `children`: the recordings of its child conversations, by the place of their calls,
    TURN.INDEX. A `turns[].system` that is null is that of the turn before."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    format: Literal["skillfleet-recording"] = "skillfleet-recording"
    version: Literal[1] = 1
    id: str
    model: str = ""
    prompt: str = ""
    system: str | None = None
    skills: tuple[str, ...] | None = None
    subagents: bool = False
    answer_schema: dict[str, Any] | None = Field(default=None, alias="schema")
    status: str = ""
    answer: str | None = None
    error: Problem | None = None
    snapshot: str = ""
    used: tuple[UsedSkill, ...] = ()
    messages: tuple[Message, ...] = ()
    turns: tuple[Asked, ...] = ()
    children: dict[str, "Recording"] = Field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def reply(self, place: int) -> Message | None:
        """What the model said in the turn at this place; None: the recording has no such turn."""
        if place >= len(self.turns) or self.turns[place].messages >= len(self.messages):
            return None
        return self.messages[self.turns[place].messages]

    def asked_with(self, place: int) -> tuple[Message, ...]:
        """What came since the reply before, in that turn."""
        begin = self.turns[place - 1].messages + 1 if place else 0
        return self.messages[begin : self.turns[place].messages]

    def system_prompt(self, place: int) -> str:
        told = [turn.system for turn in self.turns[: place + 1] if turn.system is not None]
        return told[-1] if told else ""


def as_told_in(recorded: dict[str, Any], conversation_id: str) -> dict[str, Any]:
    """A recording with subagents, as a conversation of this id would say it: whom it names, and its messages, have
    other ids then."""
    recording = Recording.model_validate(recorded)
    if not recording.subagents:
        return recorded
    text = json.dumps(recorded, ensure_ascii=False)
    for then in _ids_of_messages(recording):
        text = text.replace(uuid_of(then), uuid_of(then.replace(recording.id, conversation_id, 1)))
    told: dict[str, Any] = json.loads(text.replace(recording.id, conversation_id))
    return told


def _ids_of_messages(recording: Recording) -> Iterator[str]:
    """The texts of which they, and those of requests, were made."""
    for place, turn in enumerate(recording.turns):
        message = recording.reply(place)
        for index, _ in enumerate((message and message.tool_calls) or ()):
            call = CallRef(conversation_id=recording.id, turn=turn.turn, index=index)
            yield from (call.call_id, correlation_of(call))
    for child in recording.children.values():
        yield from _ids_of_messages(child)


def load_recording(path: Path) -> dict[str, Any]:
    """A recording's file, checked, as plain JSON values.

    Raises:
        ValueError: one line: the file, the place in it, what is wrong.
    """
    name_one = "name a file that `submit --record` wrote"
    try:
        recording = Recording.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except OSError as wrong:
        raise ValueError(f"{path}: can't be read ({wrong.strerror}); {name_one}") from None
    except ValidationError as wrong:
        first = wrong.errors(include_url=False)[0]
        place = ".".join(str(step) for step in first["loc"]) or "the file"
        raise ValueError(f"{path}: {place}: {first['msg']}; record it again with `submit --record`") from None
    except (ValueError, RecursionError):
        raise ValueError(f"{path}: is no JSON text; {name_one}") from None
    if not recording.turns:
        raise ValueError(f"{path}: has no turns: its model never replied; record it again with `submit --record`")
    return recording.as_json()
