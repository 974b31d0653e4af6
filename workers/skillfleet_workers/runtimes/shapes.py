"""What data looks like, in one line for a model (pure)."""

from typing import Any

from ..wire.shown import short

MOST_KEYS = 12
KEY_CHARS = 40
SHAPE_CHARS = 400
DEPTH = 2
KINDS = {str: "text", bool: "true or false", int: "number", float: "number", type(None): "null"}


def shape(value: Any, depth: int = DEPTH) -> str:
    """`{openapi, paths: {'/users': {...}, '/pets': {...}}, tags: [12 of {...}]}`: plain values are left out."""
    return short(_shape(value, depth), SHAPE_CHARS)


def names(value: Any) -> str:
    """Of a mapping its keys, else what it is: nothing of the values, which may be secret."""
    if not isinstance(value, dict):
        return _shape(value, 0)
    return ", ".join(_keys(value)) or "nothing"


def _shape(value: Any, depth: int) -> str:
    if isinstance(value, dict):
        if depth == 0 or not value:
            return "{...}" if value else "{}"
        inner = [f"{key}{_inner(value[name], depth)}" for key, name in zip(_keys(value), value, strict=False)]
        more = [f"... {len(value) - MOST_KEYS} more"] if len(value) > MOST_KEYS else []
        return f"{{{', '.join([*inner, *more])}}}"
    if isinstance(value, list):
        return f"[{len(value)} of {_shape(value[0], depth - 1) if depth else '...'}]" if value else "[]"
    return KINDS.get(type(value)) or type(value).__name__


def _inner(value: Any, depth: int) -> str:
    return f": {_shape(value, depth - 1)}" if isinstance(value, (dict, list)) else ""


def _keys(value: dict[str, Any]) -> list[str]:
    return [repr(short(name, KEY_CHARS)) if not str(name).isidentifier() else short(name, KEY_CHARS)
            for name in list(value)[:MOST_KEYS]]  # fmt: skip
