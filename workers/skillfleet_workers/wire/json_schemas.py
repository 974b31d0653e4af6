"""JSON Schemas of strangers: checked, and held against values without a look outside, and without end."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend, validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from .json_keywords import Keyword, bounded_keywords
from .json_patterns import PatternError, SlowPatternError, is_pattern
from .shown import short

MAX_VALUES = 2_000
"""A schema, or a value held against one, has at most so many."""

BUDGET_S = 10.0
"""Of the processor's time, for one value: schemas that refer to each other can take endless to check."""

MAX_MISFITS = 20
MESSAGE_CHARS = 300

_ABOUT_NAMES = ("required", "dependentRequired", "additionalProperties")
"""What they say of a value names no more than its members."""

_BROKEN = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What the library raises on references and numbers that are none."""


_FORMATS = FormatChecker(formats=())
_FORMATS.checks("regex", raises=PatternError)(is_pattern)


class _TooLongError(Exception):
    """BUDGET_S."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """`path`: of the value, as `port` or `servers[0].port`; empty: the whole. `rule`: the message without the value,
    which may be a secret."""

    path: tuple[str, ...]
    message: str
    rule: str = ""


def schema_trouble(schema: object) -> str | None:
    """Why it is no JSON Schema; None: it is one."""
    if not isinstance(schema, dict):
        return "it is no JSON object"
    if size(schema) > MAX_VALUES:
        return f"it has more than {MAX_VALUES} values"
    if any(isinstance(part, dict) and isinstance(part.get("$schema"), str) for part in inside(schema)):
        return "a part of it names a $schema of its own"  # that part would be checked without our bounds
    try:
        _dialect(schema).check_schema(schema, format_checker=_FORMATS)  # type: ignore[call-arg]
    except SchemaError as wrong:
        return _misfit(wrong).message
    except (RecursionError, *_BROKEN):
        return "it goes too deep, or holds a value that no schema can"
    return None


def misfits(
    schema: dict[str, Any], value: Any, most_values: int = MAX_VALUES, budget_s: float = BUDGET_S
) -> tuple[Misfit, ...]:
    """The first MAX_MISFITS places where the value does not fit the schema."""
    if size(value, most_values) > most_values:
        return (Misfit((), f"it has more than {most_values} values"),)
    # Where a part refers to the whole, a $schema there would have it checked without our bounds.
    checked = {name: part for name, part in schema.items() if name != "$schema"}
    try:
        parts = (checked, *inside(checked))
        patterned = any(isinstance(part, dict) and "patternProperties" in part for part in parts)
        validator = _bounded(_dialect(schema), patterned, budget_s)(checked, registry=Registry())
        found_misfits = islice(validator.iter_errors(value), MAX_MISFITS)
        return tuple(_misfit(wrong) for wrong in found_misfits)
    except Unresolvable as wrong:
        return (Misfit((), f"the schema refers to {short(wrong.ref)}, which is not in it"),)
    except RecursionError:
        return (Misfit((), "the schema refers to itself without end"),)
    except SlowPatternError as slow:
        return (Misfit((), f"the pattern {short(slow)!r} took too long"),)
    except _TooLongError:
        return (Misfit((), f"to check it took longer than {budget_s:g} s"),)
    except _BROKEN as wrong:
        return (Misfit((), f"the schema cannot be checked: {short(wrong)}"),)


def _dialect(schema: dict[str, Any]) -> type[Validator]:
    named = schema.get("$schema")
    known = isinstance(named, str)
    return validator_for(schema if known else {}, default=Draft202012Validator)


def _bounded(dialect: type[Validator], patterned: bool, budget_s: float) -> type[Validator]:
    ends = time.thread_time() + budget_s

    def bounded(keyword: Keyword) -> Keyword:
        def check(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
            if time.thread_time() > ends:
                raise _TooLongError
            yield from keyword(validator, value, instance, schema) or ()

        return check

    known = {name: bounded(keyword) for name, keyword in bounded_keywords(dialect, patterned).items()}
    made: type[Validator] = extend(dialect, known)  # type: ignore[no-untyped-call]
    return made


def size(value: object, limit: int = MAX_VALUES) -> int:
    """How many values it holds, itself included; no further than to one more than `limit`."""
    return 1 + sum(1 for _ in islice(inside(value), limit))


def inside(value: object) -> Iterator[object]:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        parts = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
        yield from parts
        waiting += parts


def _misfit(wrong: ValidationError | SchemaError) -> Misfit:
    path = tuple(str(part) for part in wrong.absolute_path)
    place = f"{short('.'.join(path))}: " if path else ""
    told = f"it does not keep {wrong.validator}: {wrong.validator_value!r}"
    rule = wrong.message if wrong.validator in _ABOUT_NAMES else told
    return Misfit(path, place + short(wrong.message, MESSAGE_CHARS), place + short(rule, MESSAGE_CHARS))
