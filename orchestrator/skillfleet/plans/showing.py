"""The result of a plan in so few characters that it can be a conversation's answer (pure)."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .models import ExecutionResult, ExecutionState
from .paths import skill_in

MOST_CHARS = 15_000
"""A parent keeps so much of what a child has answered, and reads it as JSON."""

OUTPUT_CHARS = 1_000
ERROR_CHARS = 300
SKILLS_CHARS = 7_000
LEFT_OUT = "leftOut"
"""The key that tells what is missing."""

FAILED_SKILLS = "failedSkills"
"""The key of the skills that have failed, where the tools that tell of them are left out."""

Told = dict[str, Any]


def shown_result(result: ExecutionResult) -> str:
    """JSON that reads as an ExecutionResult, without the events, and with as much of the rest as there is room for;
    what is missing is told under LEFT_OUT, and `skillfleet plan show` has it."""
    told = result.as_json()
    text = ""
    for _, shorten in _ways():
        shorten(told)
        text = json.dumps(told, ensure_ascii=False)
        if len(text) <= MOST_CHARS:
            return text
    return text


def _ways() -> Iterator[tuple[str, Callable[[Told], None]]]:
    yield "events", _without_events
    yield "outputs", _with_short_outputs
    yield "state", _without_state
    yield "tools", _with_failures_alone
    yield "errors", _with_few_failures


def _without_events(told: Told) -> None:
    for tool in told["executionTrace"]:
        tool["events"] = []


def _with_short_outputs(told: Told) -> None:
    for tool in told["executionTrace"]:
        if tool["output"] is not None and _length(tool["output"]) > OUTPUT_CHARS:
            tool["output"] = {LEFT_OUT: f"{_length(tool['output'])} characters"}
        if tool["error"]:
            tool["error"]["message"] = tool["error"]["message"][:ERROR_CHARS]


def _without_state(told: Told) -> None:
    told["finalState"] = {LEFT_OUT: f"{_length(told['finalState'])} characters"}
    for tool in told["executionTrace"]:
        tool["output"] = None


def _with_failures_alone(told: Told) -> None:
    kept = [one for one in told["executionTrace"] if one["state"] in (ExecutionState.FAILED, ExecutionState.TIMEOUT)]
    told[LEFT_OUT] = f"{len(told['executionTrace']) - len(kept)} tools that have not failed"
    told["executionTrace"] = kept


def _with_few_failures(told: Told) -> None:
    """Ids have at most a hundred characters. Of all that have failed their skills are told, as many as there is room
    for: the next plan does without them."""
    trace, failed = told["executionTrace"], told["failedTools"]
    told[LEFT_OUT] = f"all but the first of {len(failed)} tools that have failed, and those that have not"
    told[FAILED_SKILLS] = _fitting(dict.fromkeys(skill_in(tool["toolPath"] or "") for tool in trace))
    told["executionTrace"], told["failedTools"] = trace[:5], failed[:20]
    told["narrative"] = (told["narrative"] or "")[:ERROR_CHARS] or None
    for tool in told["executionTrace"]:
        tool["toolPath"] = (tool["toolPath"] or "")[:ERROR_CHARS]


def _fitting(names: Iterable[str]) -> list[str]:
    found, left = [], SKILLS_CHARS
    for name in names:
        left -= _length(name) + 2
        if name and left >= 0:
            found.append(name)
    return found


def _length(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False))
