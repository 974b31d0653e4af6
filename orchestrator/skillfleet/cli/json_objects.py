"""JSON objects as options take them: written there, in a file, or on stdin."""

import sys
from pathlib import Path
from typing import Any

from skillfleet_workers.wire.plain_json import parsed

from ..errors import BadRequestError

METAVAR = "JSON|@FILE"


def json_object(option: str, written: str, example: str) -> dict[str, Any]:
    """Raises: BadRequestError"""
    try:
        given = parsed(_text(written))
    except OSError as wrong:
        raise BadRequestError(f"{option}: {written[1:]}: {wrong.strerror}") from None
    except (ValueError, RecursionError) as wrong:
        raise BadRequestError(f"{option}: this is no JSON: {wrong}") from None
    if not isinstance(given, dict):
        raise BadRequestError(f"{option}: this is JSON, but no object; write it like '{example}'")
    return given


def _text(written: str) -> str:
    if written == "@-":
        return sys.stdin.read()
    return Path(written[1:]).read_text("utf-8") if written.startswith("@") else written
