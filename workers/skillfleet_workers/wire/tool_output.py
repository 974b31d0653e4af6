"""What a script has brought, as the tool of a plan or the step of a chain (pure)."""

from typing import Any

from pydantic import JsonValue

from .execution import ScriptExecution
from .patches import merged
from .plain_json import parsed

STATE_EVENT = "state"
"""The type of the event that comes last where a script has sent patches: `state` is what they come to; `patches`, as
few as come to the same whatever state they meet, where that is not one that sets what `state` says."""

MAX_OUTPUT_CHARS = 1_000_000
"""Of what a script has brought so much is kept with its conversation."""


def output_of(run: ScriptExecution) -> dict[str, JsonValue]:
    """By the NDJSON protocol what its patches come to; else the JSON object that it wrote, else the text."""
    if run.events and run.result is None:
        return merged(patches_of(run))
    return output_in(run.stdout, run.result)


def output_in(stdout: str, result: Any = None) -> dict[str, JsonValue]:
    """The JSON object that it wrote, else the text."""
    if isinstance(result, dict):
        return result
    if len(stdout) > MAX_OUTPUT_CHARS:  # a JSON object, too: of what is cut nothing can be quoted but its beginning
        return {"stdout": stdout[:MAX_OUTPUT_CHARS], "truncated": True}
    try:
        found = parsed(stdout)
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"stdout": stdout}


def told_events(run: ScriptExecution) -> tuple[dict[str, Any], ...]:
    """What the script itself has told."""
    return tuple(event for event in run.events if event.get("type") != STATE_EVENT)


def patches_of(run: ScriptExecution) -> tuple[dict[str, Any], ...]:
    """Those that it sent, or fewer that come to the same."""
    for event in reversed(run.events):
        if event.get("type") == STATE_EVENT:
            return tuple(event.get("patches") or [event["state"]])
    return ()
