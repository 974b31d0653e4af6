"""The NDJSON tool protocol: one JSON event a line of stdout, and what they make of a run (pure)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from ..wire.execution import ScriptExecution
from ..wire.patches import Composed, merged
from ..wire.plain_json import MOST_DEPTH, deeper, strict
from ..wire.shown import short
from ..wire.tool_output import STATE_EVENT

PROTOCOL_VERSION = "0"
MOST_EVENTS = 2_000
"""Of one run that are kept. What they say counts all the same: to merge, to check, to be done."""

_LEVELS = ("debug", "info", "warn", "error")
_REQUIRED: dict[str, dict[str, type]] = {
    "log": {"level": str, "message": str},
    "state_patch": {"patch": dict},
    "asset": {"assetId": str, "kind": str, "mediaType": str, "path": str},
    "ui_event": {"event": str},
    "error": {"errorCode": str, "errorMessage": str},
    "done": {"ok": bool},
}
_KINDS = {str: "a text", dict: "an object", bool: "true or false"}

Event = dict[str, Any]


class _ViolationError(Exception):
    """What the script said is not the protocol; the message says why."""


def understood(run: ScriptExecution, in_skill: Callable[[str], bool]) -> ScriptExecution:
    """`run` with its events, and the status that they give it. `in_skill`: is there such a file in the skill?

    Where patches were sent, a last event of type STATE_EVENT holds what they come to. Of more than MOST_EVENTS the
    first ones are kept, then one of type `truncated` tells how many are missing; `done` is kept whatever came before.
    A run that did not end with 0 has failed whatever its events say.
    """
    told, violation = _heard(run, in_skill)
    update: dict[str, Any] = {"events": tuple(told.events())}
    if run.status == "succeeded":
        update |= {"status": "protocol_violation", "error": violation} if violation else _verdict(told.done or {})
    return run.model_copy(update=update)


@dataclass(slots=True)
class _Told:
    """What a run's events come to; most of them are let go where they are many."""

    kept: list[Event] = field(default_factory=list)
    left_out: int = 0
    patches: Composed = field(default_factory=Composed)
    done: Event | None = None

    def hear(self, event: Event) -> None:
        if event["type"] == "done":
            self.done = event
            return
        if event["type"] == "state_patch":
            self.patches.add(event["patch"])
        if len(self.kept) < MOST_EVENTS:
            self.kept.append(event)
        else:
            self.left_out += 1

    def events(self) -> Iterator[Event]:
        yield from self.kept
        if self.left_out:
            yield {"version": PROTOCOL_VERSION, "type": "truncated", "events": self.left_out}
        if self.done is not None:
            yield self.done
        if patches := self.patches.patches:
            state = merged(patches)
            more = {} if patches == [state] else {"patches": patches}
            yield {"version": PROTOCOL_VERSION, "type": STATE_EVENT, "state": state, **more}


def _verdict(done: Event) -> dict[str, Any]:
    if done["ok"]:
        return {}
    return {"status": "failed", "error": str(done.get("summary") or "the script reported done with ok: false")}


def _heard(run: ScriptExecution, in_skill: Callable[[str], bool]) -> tuple[_Told, str | None]:
    """Up to `done`, which is the last, or to what is wrong, with the reason."""
    told = _Told()
    assets: set[str] = set()
    artifacts = {artifact.path for artifact in run.artifacts}
    for number, line in enumerate(_lines(run.stdout), start=1):
        if not line.strip():
            continue
        try:
            event = _event(line)
            if event["type"] == "asset":
                _check_asset(event, artifacts, assets, in_skill)
        except _ViolationError as wrong:
            return told, f"line {number} of stdout {wrong}"
        told.hear(event)
        if told.done is not None:
            return told, None
    return told, "stdout ended without an event of type done"


def _lines(text: str) -> Iterator[str]:
    """One after the other: all at once they take several times the memory of the text."""
    begin = 0
    while (end := text.find("\n", begin)) >= 0:
        yield text[begin:end]
        begin = end + 1
    yield text[begin:]


def _event(line: str) -> Event:
    try:
        event = strict(line)
    except (ValueError, RecursionError) as wrong:
        raise _ViolationError(f"is not JSON: {wrong}") from None
    if not isinstance(event, dict):
        raise _ViolationError("is not a JSON object")
    if event.get("version") != PROTOCOL_VERSION:
        raise _ViolationError(f"does not say version {PROTOCOL_VERSION!r}")
    required = _REQUIRED.get(event["type"]) if isinstance(event.get("type"), str) else None
    if required is None:
        raise _ViolationError(f"has no type out of {', '.join(_REQUIRED)}")
    for name, kind in required.items():
        if not isinstance(event.get(name), kind):
            raise _ViolationError(f"is a {event['type']} whose {name} is not {_KINDS[kind]}")
    if event["type"] == "log" and event["level"] not in _LEVELS:
        raise _ViolationError(f"is a log whose level is none of {', '.join(_LEVELS)}")
    if deeper(event):
        raise _ViolationError(f"is nested more than {MOST_DEPTH} deep")
    return event


def _check_asset(event: Event, artifacts: set[str], seen: set[str], in_skill: Callable[[str], bool]) -> None:
    name, path = event["assetId"], PurePosixPath(event["path"])
    if name in seen:
        raise _ViolationError(f"repeats the assetId {short(name)!r}")
    seen.add(name)
    # A script knows its output folder by an absolute path, which means nothing any more: the end of it does.
    starts = range(1, len(path.parts)) if path.is_absolute() else (0,)
    ways = (str(PurePosixPath(*path.parts[start:])) for start in starts)
    artifact = None if ".." in path.parts else next((way for way in ways if way in artifacts), None)
    if artifact is not None:
        event["path"] = artifact
    elif not in_skill(str(path)):
        raise _ViolationError(f"names an asset that does not exist: {short(path, 200)!r}")
