"""From what was seen of a run to its ScriptExecution (pure)."""

import os
import signal
from typing import Any

from ..wire.execution import TIMEOUT_RETURNCODE, ExecutionStatus
from .capture import Capture, Ended, with_line

LOST = "the supervisor of this run was killed while the script ran; how it would have ended is not known"
SPENT = "killed for processor time: a process of the run used up its {seconds} s"


def outcome(capture: Capture, timeout_s: float, cpu_seconds: int | None = None) -> dict[str, Any]:
    """The fields of a ScriptExecution that tell how the run went under the limits that were set."""
    fields: dict[str, Any] = {
        "stdout": capture.stdout.text(),
        "stderr": capture.stderr.text(),
        "stdout_bytes": capture.stdout.total,
        "stderr_bytes": capture.stderr.total,
        "stdout_truncated": capture.stdout.truncated,
        "stderr_truncated": capture.stderr.truncated,
        "startup_ms": capture.startup_ms,
        "execution_time_ms": capture.execution_time_ms,
        "leftover_killed": capture.leftover_killed,
    }
    if capture.refused is not None:
        return fields | {"status": "failed", "error": capture.refused}
    if capture.ended is None:
        return fields | {"status": "lost", "error": LOST}
    fields |= {"cpu_ms": capture.ended.cpu_ms, "max_rss_kb": capture.ended.max_rss_kb}
    ending = _stopped(capture, timeout_s) if capture.ended.killed else _by_itself(capture.ended)
    if cpu_seconds and _spent(ending, capture.ended, cpu_seconds):
        ending["error"] = SPENT.format(seconds=cpu_seconds)
    if line := ending.pop("line", None):
        fields["stderr"] = with_line(fields["stderr"], line)
    return fields | ending


def _stopped(capture: Capture, timeout_s: float) -> dict[str, Any]:
    if capture.verdict == "cancelled":
        return {"status": "cancelled", "error": "cancelled"}
    return {
        "status": "timed_out",
        "timed_out": True,
        "returncode": TIMEOUT_RETURNCODE,
        "line": f"Timeout: killed after {timeout_s:g} s",
    }


def _by_itself(ended: Ended) -> dict[str, Any]:
    if not os.WIFSIGNALED(ended.raw_status):
        code = os.WEXITSTATUS(ended.raw_status)
        status: ExecutionStatus = "succeeded" if code == 0 else "failed"
        return {"status": status, "returncode": code}
    number = os.WTERMSIG(ended.raw_status)
    name = signal_name(number)
    return {
        "status": "killed",
        "returncode": -number,
        "signal": name,
        "signal_number": number,
        "line": f"Signal: {name}",
    }


def _spent(ending: dict[str, Any], ended: Ended, cpu_seconds: int) -> bool:
    """SIGKILL comes a second after the SIGXCPU that a script may ignore."""
    number = ending.get("signal_number")
    return number == signal.SIGXCPU or (number == signal.SIGKILL and ended.cpu_ms >= cpu_seconds * 1000)


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal between the two that have names
        return f"SIGRTMIN+{number - signal.SIGRTMIN}"
