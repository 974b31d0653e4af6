"""Text and JSON as both databases can keep them (pure)."""

import json
import re
from typing import Any

from skillfleet_workers.wire.plain_json import MOST_DEPTH, deeper

MOST_NAME_CHARS = 200
"""Of a skill and its version: models write them as they like, and databases index them."""

_NO_CHARACTER = re.compile("[\0\ud800-\udfff]")
REPLACED = "\ufffd"


def stored_text(text: str) -> str:
    """PostgreSQL keeps no NUL, and neither database half a surrogate pair."""
    return _NO_CHARACTER.sub(REPLACED, text)


def stored_name(name: str) -> str:
    """As it is found again by."""
    return stored_text(name[:MOST_NAME_CHARS])


def json_object(text: str, most: int = MOST_DEPTH) -> dict[str, Any] | None:
    """None: it is no JSON, or no object, or one nested deeper."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and not deeper(found, most) else None
