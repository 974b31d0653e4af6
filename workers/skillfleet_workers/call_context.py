"""What a tool knows of the call that it serves, and what it tells of it beside the result."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from .environments.progress import silent
from .wire.contract import CallRef, UsedSkill
from .wire.execution import Output


@dataclass(slots=True)
class CallNotes:
    """`used`: the skill that the call is about, as it was found. `added`: what is shown after the result."""

    used: UsedSkill | None = None
    added: str = ""


@dataclass(frozen=True, slots=True)
class CallContext:
    """`skills`: the only ones this conversation may use; None: all. `cancelled` is set when the result is no
    longer wanted. `tell` shows a line to those who follow the conversation, `hear` what a script writes. `snapshot`
    and `digest` are the CallMessage's. `inputs`: for its scripts, by their names."""

    ref: CallRef
    skills: Collection[str] | None
    cancelled: Event
    tell: Callable[[str], None] = silent
    hear: Callable[[Output], None] | None = None
    snapshot: str = ""
    digest: str = ""
    inputs: Mapping[str, Path] = field(default_factory=dict)
    notes: CallNotes = field(default_factory=CallNotes)
