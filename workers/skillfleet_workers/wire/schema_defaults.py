"""What a JSON Schema names, and fills in, at its top (pure)."""

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]


def named_by(schema: Schema) -> tuple[str, ...]:
    return tuple(_properties(schema))


def with_defaults(schema: Schema, values: Schema) -> dict[str, Any]:
    """The defaults of what is missing come first."""
    known = _properties(schema).items()
    defaults = {name: about["default"] for name, about in known if isinstance(about, Mapping) and "default" in about}
    return {**defaults, **values}


def _properties(schema: Schema) -> Schema:
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}
