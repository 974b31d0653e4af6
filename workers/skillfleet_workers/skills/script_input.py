"""What a script reads from its standard input (pure)."""

import json
from collections.abc import Mapping
from typing import Any

from .errors import ArgumentSerializationError, ArgumentSizeError
from .models import InputMode, Skill
from .scripts import ScriptMetadata

MAX_ARGUMENT_BYTES = 10 * 1024 * 1024
TEXT = "stdin"
"""The one argument of a script that reads plain text."""


def input_mode(skill: Skill, script: ScriptMetadata, arguments: Mapping[str, Any] | None) -> InputMode:
    """What the skill says of the script, by its path or its name; else JSON where there are arguments."""
    for name in (str(script.path), script.path.name, script.name):
        if name in skill.protocol:
            return skill.protocol[name]
    return "text" if arguments is None else "json"


def script_input(
    skill: Skill, script: ScriptMetadata, arguments: Mapping[str, Any] | None, mode: InputMode, request_id: str
) -> bytes:
    """Raises: ArgumentSerializationError, ArgumentSizeError"""
    given = _serialised(arguments or {})
    if mode == "ndjson":
        about = _serialised({"requestId": request_id, "tool": skill.name, "operation": script.name})
        return about[:-1] + b', "input": ' + given + b"}\n"
    if mode == "json":
        return given
    text = (arguments or {}).get(TEXT, "")
    if not isinstance(text, str) or set(arguments or ()) - {TEXT}:
        raise ArgumentSerializationError(reason=f"this script reads plain text: pass args, or only {TEXT!r}, a text")
    return text.encode()


def _serialised(arguments: Mapping[str, Any]) -> bytes:
    try:
        data = json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode()
    except RecursionError:
        raise ArgumentSerializationError(reason="nested too deep") from None
    except (TypeError, ValueError) as wrong:
        reason = str(wrong).replace("Circular", "circular")
        raise ArgumentSerializationError(reason=reason) from wrong
    if len(data) > MAX_ARGUMENT_BYTES:
        raise ArgumentSizeError(size=len(data), limit_mb=MAX_ARGUMENT_BYTES // 1024**2)
    return data
