"""What the step of a chain has come to, by what its call was shown to bring (pure)."""

from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from skillfleet_workers.wire.contract import CallRef
from skillfleet_workers.wire.execution import ScriptExecution
from skillfleet_workers.wire.plain_json import parsed
from skillfleet_workers.wire.shown import short
from skillfleet_workers.wire.tool_output import output_in

from ..conversations.outputs import Executions
from ..conversations.trimming import CUT

LAST_ATTEMPT = 18
"""A call has so many at most: six runs, each started three times."""

TOLD_CHARS = 300


@dataclass(frozen=True, slots=True)
class StepResult:
    """`why`: it failed; empty: it succeeded."""

    output: dict[str, JsonValue] = field(default_factory=dict)
    why: str = ""

    @property
    def succeeded(self) -> bool:
        return not self.why


def step_result(shown: str, ref: dict[str, Any], executions: Executions) -> StepResult:
    """`ref`: of the call, without its attempt: where not all of it was shown, or is no longer, it is read."""
    told = _object(shown)
    if told is None or CUT in shown:
        execution = executions(CallRef(**ref, attempt=LAST_ATTEMPT))
        if execution is None:
            return StepResult(why="what it wrote is no longer kept")
        told = _told(execution)
    if told.get("status") != "succeeded":
        return StepResult(why=_why(told))
    return StepResult(output_in(str(told.get("stdout", "")), told.get("result")))


def _told(run: ScriptExecution) -> dict[str, Any]:
    told = run.model_dump(include={"status", "returncode", "stdout", "stderr", "error", "timed_out", "timeout"})
    return told | {"result": run.result}


def _why(told: dict[str, Any]) -> str:
    if "message" in told:  # a ToolError
        return str(told["message"])
    status = str(told.get("status"))
    if status == "timed_out":
        return f"it took longer than {told.get('timeout', 0):g} s"
    wrote = short(str(told.get("stderr") or told.get("stdout") or "")[-TOLD_CHARS:], TOLD_CHARS)
    if told.get("error"):
        return short(told["error"], TOLD_CHARS)
    ended = f"exit code {told.get('returncode')}" if status == "failed" else status
    return f"{ended}: {wrote}" if wrote else ended


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = parsed(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
