"""A plan as a model writes it: without what only we know of it (pure)."""

import json
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid5

from pydantic import JsonValue

from skillfleet_workers.wire.plain_json import parsed

from .models import PlanJson
from .schemas import schema_of

OURS = ("requestId", "disabledSkills", "metadata")
"""The keys of a plan that a model does not write."""


@cache
def draft_schema() -> dict[str, Any]:
    """The JSON Schema of what it writes. Providers know no references."""
    schema = deepcopy(schema_of(PlanJson))
    parts = schema.pop("$defs", {})
    for key in OURS:
        del schema["properties"][key]
    schema["required"] = [key for key in schema["required"] if key not in OURS]
    whole: dict[str, Any] = _inlined(schema, parts)
    whole.pop("$schema", None)
    return whole


def plan_id(conversation_id: str, turn: int) -> UUID:
    """Of a plan that says none: the same, however often the turn in which it was written is looked at."""
    return uuid5(NAMESPACE_OID, f"{conversation_id}.{turn}")


def read_draft(text: str) -> JsonValue:
    """What stands in it, or the text where that is no JSON. Models write their plan as a text in JSON, too."""
    draft: JsonValue = text
    while isinstance(draft, str):
        try:
            draft = parsed(draft)
        except (ValueError, RecursionError):
            return draft
    return draft


def completed(draft: object, plan_id: UUID) -> Any:
    """With an id, where it has none."""
    draft = read_draft(draft) if isinstance(draft, str) else draft
    if isinstance(draft, str):
        return draft
    return {"requestId": str(plan_id), **draft} if isinstance(draft, dict) else json.dumps(draft)


def _inlined(part: Any, parts: Mapping[str, Any]) -> Any:
    if isinstance(part, list):
        return [_inlined(one, parts) for one in part]
    if not isinstance(part, dict):
        return part
    if reference := part.get("$ref"):
        beside = {name: value for name, value in part.items() if name != "$ref"}
        return _inlined(parts[reference.rpartition("/")[2]] | beside, parts)
    plain = {name: value for name, value in part.items() if name != "title" or not isinstance(value, str)}
    return {name: _inlined(value, parts) for name, value in plain.items()}
