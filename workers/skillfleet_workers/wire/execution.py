"""ScriptExecution: the outcome of running code, the one result type of every runtime."""

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, computed_field

ExecutionStatus = Literal[
    "succeeded", "failed", "timed_out", "killed", "oom_killed", "cancelled", "lost", "protocol_violation"
]
Isolation = Literal["none", "process", "sandbox", "container", "gvisor"]
Speaker = Literal["stdout", "stderr"]

OUTPUT_LIMIT_BYTES = 10_485_760
"""stdout and stderr are each cut here (seed 001: 10 MB)."""

TIMEOUT_RETURNCODE = 124
TRUNCATION_MARKER = "[... output truncated ...]"
RESULT_EVENT = "result"
"""The type of the event that carries what code in code mode came to."""


@dataclass(frozen=True, slots=True)
class Output:
    """What a running script has written to one of its streams since the last time. `skipped`: bytes before `text`
    that were too many to tell."""

    stream: Speaker
    text: str
    skipped: int = 0

    def told(self, key: str) -> dict[str, Any]:
        """What followers of a conversation see of it."""
        return {"key": key, "stream": self.stream, "text": self.text, "skipped": self.skipped}


class Artifact(BaseModel):
    """A file that a run left in its output folder. `path` is relative to that folder, `location` absolute
    on the worker that ran it; `digest`: SHA-256 by which it is in the artifact store, empty: it is not there."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    path: str
    bytes: int
    media_type: str
    location: str = ""
    digest: str = ""


class ScriptExecution(BaseModel):
    """Seed 000's and seed 001's fields in one model, and what neither has.

    `returncode` is None when nothing ran, 124 after a timeout, -N when signal N ended it; `timeout` is the
    limit in seconds; times end in their unit. `success` is never guessed from text.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    status: ExecutionStatus
    skill_name: str = ""
    script: str = ""
    script_path: str = ""
    working_directory: str = ""
    interpreter: str = ""
    timeout: float = 0.0
    stdout: str = ""
    stderr: str = ""
    returncode: int | None = None
    timed_out: bool = False
    signal: str | None = None
    signal_number: int | None = None
    stdout_truncated: bool = False
    stderr_truncated: bool = False
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    execution_time_ms: float = 0.0
    startup_ms: float = 0.0
    queued_ms: float = 0.0
    cpu_ms: float = 0.0
    max_rss_kb: int = 0
    leftover_killed: int = 0
    runtime: str = ""
    isolation: Isolation = "none"
    worker: str = ""
    attempt: int = 1
    error: str | None = None
    events: tuple[dict[str, Any], ...] = ()
    artifacts: tuple[Artifact, ...] = Field(default=())

    @computed_field  # type: ignore[prop-decorator]
    @property
    def success(self) -> bool:
        return self.status == "succeeded"

    @computed_field  # type: ignore[prop-decorator]
    @property
    def signaled(self) -> bool:
        return self.signal is not None

    @property
    def result(self) -> Any:
        """What code in code mode came to; None: nothing, or that."""
        return next((event["value"] for event in self.events if event.get("type") == RESULT_EVENT), None)
