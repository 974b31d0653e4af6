"""Keywords of JSON Schema as the library has them, but for those that take endless on what a stranger wrote."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator

from .json_patterns import found

MAX_UNEVALUATED = 2_000
"""Members of a value, each of which the library looks for among all the others."""

Keyword = Callable[[Any, Any, Any, Any], Iterator[ValidationError] | None]


def bounded_keywords(dialect: type[Validator], patterned: bool) -> dict[str, Keyword]:
    """`patterned`: the schema has patternProperties. There, what they leave unevaluated is not checked."""
    known: dict[str, Keyword] = dict(dialect.VALIDATORS)
    instead: dict[str, Keyword] = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional(known["additionalProperties"]),
        "uniqueItems": _unique,
    }
    for name in ("unevaluatedProperties", "unevaluatedItems"):
        if name in known:
            instead[name] = _nothing if patterned else _of_few(known[name])
    return known | {name: keyword for name, keyword in instead.items() if name in known}


def _pattern(validator: Any, pattern: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not found(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    for pattern, inner in patterns.items() if isinstance(instance, dict) else ():
        for name, value in instance.items():
            if found(pattern, name):
                yield from validator.descend(value, inner, path=name, schema_path=pattern)


def _additional(keyword: Keyword) -> Keyword:
    def check(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        patterns = schema.get("patternProperties", ())
        if isinstance(instance, dict) and patterns:
            named = schema.get("properties", ())
            additional = (name for name in instance if name not in named)
            instance = {
                name: instance[name] for name in additional if not any(found(pattern, name) for pattern in patterns)
            }
            schema = {}
        yield from keyword(validator, value, instance, schema) or ()

    return check


def _unique(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if value and isinstance(instance, list) and len({_canonical(item) for item in instance}) < len(instance):
        yield ValidationError(f"{instance!r} has non-unique elements")


def _canonical(value: Any) -> Any:
    """The same for what is equal in JSON, where true is not 1."""
    if isinstance(value, Mapping):
        return frozenset((name, _canonical(item)) for name, item in value.items())
    if isinstance(value, list):
        return tuple(_canonical(item) for item in value)
    return (bool, value) if isinstance(value, bool) else value


def _nothing(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    return iter(())


def _of_few(keyword: Keyword) -> Keyword:
    def check(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        if not isinstance(instance, dict | list) or len(instance) <= MAX_UNEVALUATED:
            yield from keyword(validator, value, instance, schema) or ()

    return check
