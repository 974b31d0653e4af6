"""What a schema of today may not do to one that was recorded (pure).

`python -m tests.contract.schemas > tests/contract/recorded/vN/schemas.json` records those of a release.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

from tests.contract.models import MODELS

Schema = dict[str, Any]
UPPER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems")
LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems")


def narrowed(old: Schema, new: Schema) -> list[str]:
    """Where something that was written by `old` would be refused, or lost, by `new`."""
    return list(_narrowed(old, new, (old.get("$defs", {}), new.get("$defs", {})), ""))


def _narrowed(old: Schema, new: Schema, defs: tuple[Schema, Schema], place: str) -> Iterator[str]:
    old, new = _resolved(old, defs[0]), _resolved(new, defs[1])
    if options := _options(old):
        yield from _options_gone(options, _options(new) or [new], defs, place)
        return
    if choices := _options(new):
        if all([*_narrowed(old, choice, defs, place)] for choice in choices):
            yield f"{place}: none of its kinds is the one that there was"
        return
    if old.get("type") != new.get("type") and (old.get("type"), new.get("type")) != ("integer", "number"):
        yield f"{place}: {old.get('type')} became {new.get('type')}"
    if "enum" in new or "const" in new:
        gone = [value for value in _values(old) if value not in _values(new)] if _values(old) else ["any text"]
        yield from (f"{place}: {value!r} is no longer known" for value in gone)
    yield from _bounds(old, new, place)
    yield from _properties(old, new, defs, place)
    for inner in ("items", "additionalProperties"):
        if isinstance(old.get(inner), dict) and isinstance(new.get(inner), dict):
            yield from _narrowed(old[inner], new[inner], defs, f"{place}[]")


def _properties(old: Schema, new: Schema, defs: tuple[Schema, Schema], place: str) -> Iterator[str]:
    fields = new.get("properties", {})
    for name, field in old.get("properties", {}).items():
        if name not in fields:
            yield f"{place}.{name}: is gone"
        else:
            yield from _narrowed(field, fields[name], defs, f"{place}.{name}")
    for name in new.get("required", ()):
        if name not in old.get("required", ()):
            yield f"{place}.{name}: is required now"
    if new.get("additionalProperties") is False:
        yield f"{place}: unknown fields are refused"


def _options_gone(old: list[Schema], new: list[Schema], defs: tuple[Schema, Schema], place: str) -> Iterator[str]:
    for option in old:
        if all([*_narrowed(option, choice, defs, place)] for choice in new):
            yield f"{place}: one of its kinds is gone: {option}"


def _bounds(old: Schema, new: Schema, place: str) -> Iterator[str]:
    for name in UPPER:
        if name in new and new[name] < old.get(name, float("inf")):
            yield f"{place}: {name} is {new[name]} now"
    for name in LOWER:
        if name in new and new[name] > old.get(name, float("-inf")):
            yield f"{place}: {name} is {new[name]} now"
    if new.get("pattern") not in (None, old.get("pattern")):
        yield f"{place}: has another pattern"


def _resolved(schema: Schema, defs: Schema) -> Schema:
    if "$ref" not in schema:
        return schema
    found: Schema = defs[schema["$ref"].rpartition("/")[2]]
    return found


def _options(schema: Schema) -> list[Schema]:
    found: list[Schema] = schema.get("anyOf", [])
    return found


def _values(schema: Schema) -> list[Any]:
    found: list[Any] = schema.get("enum", [schema["const"]] if "const" in schema else [])
    return found


def schemas() -> dict[str, Schema]:
    return {name: model.model_json_schema() for name, model in MODELS.items()}


if __name__ == "__main__":
    json.dump(schemas(), sys.stdout, indent=1, ensure_ascii=False, sort_keys=True)
    sys.stdout.write("\n")
