"""What the result of a call says of the skill's health (pure)."""

from ..wire.contract import ToolError
from ..wire.execution import ScriptExecution
from .breaker import Outcome

NO_ENVIRONMENT = ("environment_build_failed", "bad_requirements", "broken_venv")

_BROKE = {
    "timed_out": "timed out after {result.timeout:g} s",
    "killed": "was killed by {result.signal}",
    "oom_killed": "ran out of memory",
    "lost": "was lost with what ran it",
    "protocol_violation": "did not keep to its protocol",
}


def outcome_of(
    result: ScriptExecution | ToolError, *, own_script: bool, own_environment: bool = True, own_timeout: bool = True
) -> Outcome | None:
    """None: it says nothing of the skill: the call was cancelled, or nothing came to run. `own_script`: what ran is a
    part of the skill; `own_environment`: so is what its environment was to hold; `own_timeout`: it had the time that
    the skill is given. Else a model has said so."""
    if isinstance(result, ToolError):
        return "broke" if own_environment and result.error in NO_ENVIRONMENT else None
    if not own_script or result.status == "cancelled" or (result.status == "timed_out" and not own_timeout):
        return None
    if result.status in _BROKE:
        return "broke"
    return "ok" if result.success else "failed"


def found_environment(result: ScriptExecution | ToolError) -> bool | None:
    """Whether there was one to run in; None: the call did not come to it, or was lost or cancelled."""
    if isinstance(result, ToolError):
        return False if result.error in NO_ENVIRONMENT else None
    return None if result.status in ("lost", "cancelled") else True


def detail_of(result: ScriptExecution | ToolError) -> str:
    """What happened, for everybody's eyes: no word of the run itself, which may be a secret of its conversation."""
    if isinstance(result, ToolError):
        return "found no environment" if result.error in NO_ENVIRONMENT else "did not come to run"
    told = _BROKE.get(result.status)
    return told.format(result=result) if told else f"ended with {result.status}"
