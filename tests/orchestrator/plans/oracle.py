"""What a plan must come to, worked out by brute force from the rules in words. It knows nothing of the engine.

- A tool runs once all that it depends on has ended. If one of these was skipped, or failed although it was required,
  the tool is skipped.
- A tool that fails is run again up to maxRetries times. One whose worker dies is run again where retries are allowed
  at all, but not after three deaths in a row.
- The plan succeeds if every required tool has completed. The first required tool that failed says why it did not.
- The state is what the patches of the completed tools come to, in an order in which each tool comes after those that
  it depends on: again and again all that may come now, as the plan lists them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Outcome = Literal["ok", "failed", "timed_out", "protocol_violation", "lost"]


@dataclass(frozen=True)
class Tool:
    """`outcomes`: of its runs, in turn; what comes after them succeeds. `patches`: those of a run that succeeds."""

    name: str
    needs: tuple[str, ...] = ()
    required: bool = True
    overlaps: bool = False
    retries: int = 3
    backoff_ms: int = 100
    outcomes: tuple[Outcome, ...] = ()
    patches: tuple[dict[str, Any], ...] = ()


@dataclass
class Verdict:
    states: dict[str, str] = field(default_factory=dict)
    retries: dict[str, int] = field(default_factory=dict)
    success: bool = True
    failed: list[str] = field(default_factory=list)
    reason: str | None = None
    state: dict[str, Any] = field(default_factory=dict)


def verdict(tools: Sequence[Tool]) -> Verdict:
    told = Verdict()
    for tool in in_order(tools):
        blamed = [one for one in tools if one.name in tool.needs and _stops(one, told.states[one.name])]
        told.states[tool.name], told.retries[tool.name], why = ("skipped", 0, "") if blamed else alone(tool)
        if told.states[tool.name] == "completed":
            for patch in tool.patches:
                told.state = deep_merge(told.state, patch)
        elif told.states[tool.name] != "skipped":
            told.failed.append(tool.name)
            if tool.required and told.reason is None:
                told.reason = why
    told.success = all(told.states[tool.name] == "completed" for tool in tools if tool.required)
    return told


def _stops(tool: Tool, state: str) -> bool:
    return state == "skipped" or (tool.required and state != "completed")


def alone(tool: Tool) -> tuple[str, int, str]:
    """Its state, how often it was run again because it had failed, and the reason of its failure."""
    failures = deaths = 0
    for outcome in (*tool.outcomes, "ok"):
        if outcome == "ok":
            return "completed", failures, ""
        if outcome == "lost":
            deaths += 1
            if tool.retries == 0 or deaths == 3:
                return "failed", failures, "tool_failure"
        elif failures < tool.retries:
            failures, deaths = failures + 1, 0
        elif outcome == "timed_out":
            return "timeout", failures, "timeout"
        else:
            return "failed", failures, "protocol_violation" if outcome == "protocol_violation" else "tool_failure"
    raise AssertionError


def in_order(tools: Sequence[Tool]) -> list[Tool]:
    placed: list[Tool] = []
    while len(placed) < len(tools):
        names = {tool.name for tool in placed}
        now = [tool for tool in tools if tool.name not in names and set(tool.needs) <= names]
        assert now, "there is a circle"
        placed += now
    return placed


def deep_merge(target: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """As seed 003 writes it, but for one thing: an object that meets none starts from an empty one, so that nulls in
    it delete nothing and are not kept (RFC 7396)."""
    result = dict(target)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            there = result.get(key)
            result[key] = deep_merge(there if isinstance(there, dict) else {}, value)
        else:
            result[key] = value
    return result
