"""Seed 001's view of a script's outcome (pure)."""

from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from .wire.execution import TIMEOUT_RETURNCODE, ScriptExecution

NOT_RUN = 126
"""The exit code of what could not be started, as a shell gives it."""


@dataclass(frozen=True, slots=True)
class ScriptExecutionResult:
    """`error`: why it is no success where the exit code does not tell: the script kept to no protocol, its children
    were killed for memory. `timed_out` is what was seen, never guessed from the text. `artifacts`: the files that it
    handed back."""

    stdout: str
    stderr: str
    exit_code: int
    execution_time_ms: float
    script_path: Path
    signal: str | None
    signal_number: int | None
    stdout_truncated: bool
    stderr_truncated: bool
    timed_out: bool = False
    error: str | None = None
    artifacts: tuple[Path, ...] = ()

    @classmethod
    def of(cls, run: ScriptExecution) -> "ScriptExecutionResult":
        return cls(
            stdout=run.stdout,
            stderr=run.stderr,
            exit_code=NOT_RUN if run.returncode is None else run.returncode,
            execution_time_ms=run.execution_time_ms,
            script_path=Path(run.script_path),
            signal=run.signal,
            signal_number=run.signal_number,
            stdout_truncated=run.stdout_truncated,
            stderr_truncated=run.stderr_truncated,
            timed_out=run.timed_out,
            error=None if run.success else run.error or (run.status if run.returncode == 0 else None),
            artifacts=tuple(Path(artifact.location) for artifact in run.artifacts),
        )

    @property
    def success(self) -> bool:
        return self.exit_code == 0 and self.error is None

    @property
    def timeout(self) -> bool:
        return self.timed_out

    @property
    def signaled(self) -> bool:
        return self.signal is not None


class ScriptToolResult(TypedDict):
    """What LangChain makes of a tool's answer: `content` is stdout, None where `is_error`."""

    type: str
    tool_use_id: str
    content: str | list[object] | None
    is_error: bool


def validate_execution_result(result: ScriptExecutionResult) -> None:
    """Raises: ValueError: it contradicts itself."""
    if result.signal is not None:
        if result.exit_code >= 0:
            raise ValueError(f"Signal present but exit_code is positive: {result.exit_code}")
        if result.signal_number != -result.exit_code:
            raise ValueError(
                f"Signal number mismatch: signal_number={result.signal_number}, exit_code={result.exit_code}"
            )
    if result.timeout and result.exit_code != TIMEOUT_RETURNCODE:
        raise ValueError(f"Timeout but exit_code != {TIMEOUT_RETURNCODE}: {result.exit_code}")
