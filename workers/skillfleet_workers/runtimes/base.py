"""The port that every runtime stands behind: process now; warm and container fit here too."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ..wire.execution import ScriptExecution


class RuntimeUnavailableError(Exception):
    """The runtime itself is broken (its supervisor cannot start, say): infrastructure, not a script's failure."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What to run, where, with what; how it is started is the runtime's business.

    `script` is Python source, or the path of a script inside the skill. `environment` is the whole environment of
    the script. `work_dir` is private to this run and gone after it.
    """

    skill_name: str
    skill_root: Path
    interpreter: Path
    script: str | Path
    environment: Mapping[str, str]
    timeout_s: float
    work_dir: Path
    arguments: tuple[str, ...] = ()
    stdin: bytes = b""
    cancelled: threading.Event = field(default_factory=threading.Event)


class Runtime(Protocol):
    name: str

    def run(self, request: RunRequest) -> ScriptExecution:
        """Run to the end, the deadline or the cancellation, whichever is first; nothing of it lives afterwards.

        Raises:
            RuntimeUnavailableError: the runtime could not do its part; the script may not have run.
        """
        ...

    def close(self) -> None:
        """End whatever the runtime keeps resident."""
        ...
