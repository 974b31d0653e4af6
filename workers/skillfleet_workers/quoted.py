"""A call's arguments with what they quote of earlier calls filled in (pure)."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from jsonpointer import JsonPointer, JsonPointerException

from .wire.contract import ToolError
from .wire.kept import KeptRun
from .wire.quotes import Quote
from .wire.tool_output import MAX_OUTPUT_CHARS

Kept = Mapping[str, KeptRun]
"""By the task ids of their attempts."""


def filled(arguments: Mapping[str, Any], quotes: Sequence[Quote], kept: Kept) -> dict[str, Any] | ToolError:
    whole: Any = {"": deepcopy(dict(arguments))}
    for quote in quotes:
        value = _value(quote, kept)
        if isinstance(value, ToolError):
            return value
        *way, last = ("", *quote.place)
        part = whole
        for step in way:
            part = part[step]
        part[last] = deepcopy(value)
    found: dict[str, Any] = whole[""]
    return found


def _value(quote: Quote, kept: Kept) -> Any:
    if not quote.task_id:
        return None
    who = quote.tool or quote.task_id
    if quote.task_id not in kept:
        return ToolError(
            error="output_gone",
            message=f"What {who} has brought is no longer kept, and this call quotes it.",
            fix="Run the plan again.",
        )
    output = kept[quote.task_id].output
    try:
        return JsonPointer(quote.pointer).resolve(output)
    except JsonPointerException:
        if output.get("truncated") is True:
            return ToolError(
                error="output_too_large",
                message=f"What {who} has brought is too large to be quoted but as a text, without its end.",
                fix=f"Let that tool bring at most {MAX_OUTPUT_CHARS} characters, or hand on a file.",
            )
        names = ", ".join(sorted(output)[:10]) or "nothing"
        return ToolError(
            error="output_without_value",
            message=f"There is nothing at {quote.pointer!r} in what {who} has brought; it has {names}.",
            fix="Correct the pointer, or let that tool write the value.",
        )
