"""Files that a submission names: written replies, recordings, and JSON Schemas; each is read once while it stays."""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from skillfleet_workers.wire.plain_json import written

from .conversations.answers import wrong_schema
from .errors import BadRequestError
from .llm.recording import as_told_in, load_recording
from .llm.scripted import load_script
from .llm.written import read_written
from .settings import PLAYED, REPLAY, SCRIPTED

_LOADERS = {SCRIPTED: load_script, REPLAY: load_recording}

RECORDED = ("prompt", "system", "skills", "schema", "subagents")
"""Of a submission's fields that are not given, those that a replay takes from its recording."""


def script_for(conversation_id: str, model: str) -> dict[str, Any] | None:
    """As `script_of`, for the conversation that is to play it."""
    script = script_of(model)
    return as_told_in(script, conversation_id) if script and model.startswith(REPLAY) else script


def script_of(model: str) -> dict[str, Any] | None:
    """
    Raises:
        BadRequestError: one line: the file, what is wrong with it.
    """
    kind = next((kind for kind in PLAYED if model.startswith(kind)), None)
    if kind is None:
        return None
    path = Path(model.removeprefix(kind))
    try:
        return _loaded(kind, path, _changed_ns(path))
    except ValueError as wrong:
        raise BadRequestError(f"--model: {wrong}") from None


def as_recorded(given: dict[str, Any]) -> dict[str, Any]:
    """With what a replay was recorded with, where nothing else is said.

    Raises: as `script_of`.
    """
    model = given.get("model")
    if not isinstance(model, str) or not model.startswith(REPLAY):
        return given
    recorded = script_of(model) or {}
    return given | {name: recorded[name] for name in RECORDED if given.get(name) in (None, "") and name in recorded}


def schema_of(given: object) -> object:
    """A schema as it is; of a file, or of a pydantic model class, its schema.

    Raises:
        ValueError: no answer could be held against it.
    """
    if given is None:
        return None
    if isinstance(given, str | Path):
        path = Path(given)
        return _schema_at(path, _changed_ns(path))
    if isinstance(given, type) and issubclass(given, BaseModel):
        return _checked(given.model_json_schema(), "")
    return _checked(given, "")


def _checked(schema: object, where: str) -> dict[str, Any]:
    try:
        plain = json.loads(written(schema))
    except (TypeError, ValueError, RecursionError):
        raise ValueError(f"{where}is no JSON value; give a JSON Schema, or a pydantic model class") from None
    if wrong := wrong_schema(plain):
        raise ValueError(f"{where}is no JSON Schema that can be used: {wrong}")
    return dict(plain)


def _changed_ns(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None


@lru_cache(maxsize=16)
def _loaded(kind: str, path: Path, changed_ns: int | None) -> dict[str, Any]:
    """A batch names one file thousands of times."""
    return _LOADERS[kind](path)


@lru_cache(maxsize=16)
def _schema_at(path: Path, changed_ns: int | None) -> dict[str, Any]:
    return _checked(read_written(path, "JSON Schema"), f"{path}: ")
