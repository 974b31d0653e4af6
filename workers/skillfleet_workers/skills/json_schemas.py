"""JSON Schemas that skills bring along: checked, and held against values without a look outside, and without end."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend, validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from ..wire.shown import short

MAX_VALUES = 2_000
"""A schema, or a value held against one, has at most so many."""

MAX_REFERENCES = 10_000
"""Schemas that refer to each other can take endless to check."""

MAX_MISFITS = 20
MESSAGE_CHARS = 300

_UNCHECKED = ("pattern", "patternProperties", "unevaluatedProperties", "unevaluatedItems")
"""Regular expressions of strangers can take endless; what depends on them goes with them."""

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")

_BROKEN = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What the library raises on references and numbers that are none."""

_Keyword = Callable[[Any, Any, Any, Any], Iterator[ValidationError] | None]


class _TooMuchError(Exception):
    """MAX_REFERENCES."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """`path`: of the value, as `port` or `servers[0].port`; empty: the whole."""

    path: tuple[str, ...]
    message: str


def schema_trouble(schema: object) -> str | None:
    """Why it is no JSON Schema; None: it is one."""
    if not isinstance(schema, dict):
        return "it is no JSON object"
    if size(schema) > MAX_VALUES:
        return f"it has more than {MAX_VALUES} values"
    if any(isinstance(part, dict) and isinstance(part.get("$schema"), str) for part in _inside(schema)):
        return "a part of it names a $schema of its own"  # that part would be checked without our bounds
    try:
        _dialect(schema).check_schema(schema)
    except SchemaError as wrong:
        return _misfit(wrong).message
    except (RecursionError, *_BROKEN):
        return "it goes too deep, or holds a value that no schema can"
    return None


def misfits(schema: dict[str, Any], value: Any) -> tuple[Misfit, ...]:
    """The first MAX_MISFITS places where the value does not fit the schema. Patterns are not checked."""
    if size(value) > MAX_VALUES:
        return (Misfit((), f"it has more than {MAX_VALUES} values"),)
    try:
        validator = _bounded(_dialect(schema))(schema, registry=Registry())
        found = islice(validator.iter_errors(value), MAX_MISFITS)
        return tuple(_misfit(wrong) for wrong in found)
    except Unresolvable as wrong:
        return (Misfit((), f"the schema refers to {short(wrong.ref)}, which is not in it"),)
    except (_TooMuchError, RecursionError):
        return (Misfit((), "the schema refers to itself without end"),)
    except _BROKEN as wrong:
        return (Misfit((), f"the schema cannot be checked: {short(wrong)}"),)


def _dialect(schema: dict[str, Any]) -> type[Validator]:
    named = schema.get("$schema")
    known = isinstance(named, str)
    return validator_for(schema if known else {}, default=Draft202012Validator)


def _bounded(dialect: type[Validator]) -> type[Validator]:
    left = MAX_REFERENCES

    def counted(keyword: _Keyword) -> _Keyword:
        def check(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
            nonlocal left
            left -= 1
            if left < 0:
                raise _TooMuchError
            yield from keyword(validator, value, instance, schema) or ()

        return check

    known = dict(dialect.VALIDATORS)
    changed = {name: counted(known[name]) for name in _REFERENCES if name in known}
    changed |= {name: _nothing for name in _UNCHECKED if name in known}
    changed["additionalProperties"] = _additional(known["additionalProperties"])
    bounded: type[Validator] = extend(dialect, changed)  # type: ignore[no-untyped-call]
    return bounded


def _nothing(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    return iter(())


def _additional(keyword: _Keyword) -> _Keyword:
    def check(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        if "patternProperties" not in schema:
            yield from keyword(validator, value, instance, schema) or ()

    return check


def size(value: object, limit: int = MAX_VALUES) -> int:
    """How many values it holds, itself included; no further than to one more than `limit`."""
    return 1 + sum(1 for _ in islice(_inside(value), limit))


def _inside(value: object) -> Iterator[object]:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        parts = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
        yield from parts
        waiting += parts


def _misfit(wrong: ValidationError | SchemaError) -> Misfit:
    path = tuple(str(part) for part in wrong.absolute_path)
    place = f"{short('.'.join(path))}: " if path else ""
    return Misfit(path, place + short(wrong.message, MESSAGE_CHARS))
