"""Answers: as they are, or as the JSON that a conversation was asked for, corrected where it does not fit (pure)."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from pydantic import JsonValue

from skillfleet_workers.wire.plain_json import parsed
from skillfleet_workers.wire.shown import short

from .activations import at_rest
from .ending import Moved, close_turn, finish
from .limits import Problem
from .messages import Message
from .models import Conversation

MAX_CORRECTIONS = 3
"""A model is told so often that its answer does not fit; then the conversation has failed."""

MAX_ANSWER_VALUES = 100_000
MAX_SCHEMA_CHARS = 64_000
CHECK_S = 2.0
"""Of the processor's time, for one answer: other conversations wait for it."""

_FENCED = re.compile(r"^```(?:json|JSON)?[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Fits:
    """`text`: the JSON as it was given, out of its fence."""

    data: JsonValue
    text: str


@dataclass(frozen=True, slots=True)
class Unfit:
    """`why`: each thing that is wrong with it, bounded."""

    why: tuple[str, ...]


def answered(conversation: Conversation, content: str | None, now: float, problem: Problem | None = None) -> Moved:
    """The model has called nothing: it ends, or the model is asked for an answer that fits. `problem`: why it has
    failed all the same."""
    said = conversation.model_copy(update={"answer": content, "activated": at_rest(conversation.activated)})
    schema = said.spec.answer_schema
    found = read_answer(content or "", schema) if schema is not None else None
    if isinstance(found, Fits):
        said = said.model_copy(update={"answer": found.text, "data": found.data})
    if said.closing and (problem or said.spec.plan is None):  # a plan may be done but for what is optional
        return finish(said, "expired", now, said.closing)
    if problem:
        return finish(said, "failed", now, problem)
    if not isinstance(found, Unfit):
        return finish(said, "completed", now)
    if said.corrections >= MAX_CORRECTIONS:
        return finish(said, "failed", now, _does_not_fit(found))
    correction = Message(role="user", content=_told(found))
    asked = {"messages": (*said.messages, correction), "corrections": said.corrections + 1}
    # What governed the answer governs its correction.
    return close_turn(said.model_copy(update={**asked, "activated": conversation.activated}), now)


def read_answer(content: str, schema: dict[str, Any]) -> Fits | Unfit:
    try:
        text, data = _parsed(content)
    except (ValueError, RecursionError) as wrong:
        return Unfit((f"It is not JSON alone: {short(wrong, 200)}",))
    misfits = _checker().misfits(schema, data, MAX_ANSWER_VALUES, CHECK_S)
    return Unfit(tuple(misfit.message for misfit in misfits)) if misfits else Fits(data, text)


def wrong_schema(schema: object) -> str | None:
    """Why no answer can be held against it; None: it is a JSON Schema that refers to nothing outside."""
    if trouble := _checker().schema_trouble(schema):
        return str(trouble)
    if not isinstance(schema, dict) or len(json.dumps(schema)) > MAX_SCHEMA_CHARS:
        return f"it is longer than {MAX_SCHEMA_CHARS} characters"
    for reference in _references(schema):
        if not _leads_inside(reference, schema):
            return f"it refers to {short(reference)}, which is not in it; put that under $defs"
    return None


def _does_not_fit(found: Unfit) -> Problem:
    return Problem(
        code="answer_does_not_fit",
        message=f"The model's answer does not fit the schema after {MAX_CORRECTIONS} corrections: {found.why[0]}",
        fix="Make the schema simpler, or name a stronger model with --model.",
    )


def _told(found: Unfit) -> str:
    wrong = "\n".join(f"- {reason}" for reason in found.why)
    return (
        f"Your answer does not fit the JSON Schema that it has to fit:\n{wrong}\n"
        "Answer again with the corrected JSON alone."
    )


def _parsed(content: str) -> tuple[str, JsonValue]:
    """Raises: ValueError, RecursionError"""
    text = unfenced(content)
    return text, parsed(text)


def unfenced(content: str) -> str:
    """The one block of code that stands in words; else all of it."""
    text = content.strip()
    fenced = _FENCED.findall(text)
    return fenced[0].strip() if len(fenced) == 1 and not text.startswith(("{", "[")) else text


def _references(schema: object) -> Iterator[str]:
    for part in (schema, *_checker().inside(schema)):
        if isinstance(part, dict):
            yield from (part[name] for name in ("$ref", "$dynamicRef") if isinstance(part.get(name), str))


def _leads_inside(reference: str, schema: dict[str, Any]) -> bool:
    """An anchor is known by its name alone, and looked for when an answer is checked."""
    if not reference.startswith("#/"):
        return reference.startswith("#")
    part: object = schema
    for step in reference[2:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(part, dict) or name not in part:
            return False
        part = part[name]
    return True


def _checker() -> ModuleType:
    # A tenth of a second of import, which every command would pay.
    from skillfleet_workers.wire import json_schemas  # noqa: PLC0415

    return json_schemas
