"""Text and JSON as both databases can keep them (pure)."""

import json
import re
from typing import Any

MOST_NAME_CHARS = 200
"""Of a skill and its version: models write them as they like, and databases index them."""

MOST_DEPTH = 100
"""Of objects and lists in one another: deeper ones cannot be read back as records."""

_NO_CHARACTER = re.compile("[\0\ud800-\udfff]")
REPLACED = "\ufffd"


def stored_text(text: str) -> str:
    """PostgreSQL keeps no NUL, and neither database half a surrogate pair."""
    return _NO_CHARACTER.sub(REPLACED, text)


def stored_name(name: str) -> str:
    """As it is found again by."""
    return stored_text(name[:MOST_NAME_CHARS])


def json_object(text: str) -> dict[str, Any] | None:
    """None: it is no JSON, or no object, or nested too deeply."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and not _deeper(found, MOST_DEPTH) else None


def _deeper(value: object, most: int) -> bool:
    level = [value]
    for _ in range(most):
        inner = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list))
        level = [value for values in inner for value in values]
        if not level:
            return False
    return True
