"""The port that every runtime stands behind."""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from ..wire.execution import Output, ScriptExecution


class RuntimeUnavailableError(Exception):
    """The runtime itself is broken (its supervisor cannot start, say): infrastructure, not a script's failure."""


Network = Literal["none", "host"]
RuntimeChoice = str
"""`auto`, `warm`, `process`, `container`, or the name of a runtime that others have registered."""
Language = Literal["python", "shell", "javascript", "ruby", "perl"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may use. `disk_mb`: all that it may write; `cpu_seconds`: of processor time, None: as much as
    fits into its timeout; `cpus`: cores at once, None: all that the host has."""

    memory_mb: int = 1024
    pids: int = 256
    disk_mb: int = 256
    cpu_seconds: int | None = None
    cpus: float | None = None


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What to run, where, with what; how it is started is the runtime's business.

    `script` is source, or the path of a script inside the skill; `interpreter` runs it. `environment` is all that
    the script sees of the world, but for its work folder: the runtime adds HOME, TMPDIR and SKILLFLEET_OUTPUT_DIR.
    What the script leaves in the last is moved to `keep`. `preload`: modules that such scripts import.
    `programs`: folders of the worker that its PATH names besides, and that are shown to it.
    `fresh_interpreter`: no fork of a warm one will do. `image`: of the container that the skill asks for. `hear`
    is told now and then what the script writes, and must return at once. `files` (at most 4) lie in its work folder
    from the start, each under the name of the variable that holds its path. `inputs` (at most MAX_INPUT_FILES): local
    files, copied into a folder of it, by their relative names there.
    """

    skill_name: str
    skill_root: Path
    interpreter: Path
    script: str | Path
    environment: Mapping[str, str]
    timeout_s: float
    arguments: tuple[str, ...] = ()
    stdin: bytes = b""
    cancelled: threading.Event = field(default_factory=threading.Event)
    language: Language = "python"
    limits: Limits = Limits()
    network: Network = "none"
    preload: tuple[str, ...] = ()
    fresh_interpreter: bool = False
    keep: Path | None = None
    image: str | None = None
    runtime: RuntimeChoice = "auto"
    hear: Callable[[Output], None] | None = None
    programs: tuple[Path, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    inputs: Mapping[str, Path] = field(default_factory=dict)


def work_variables(work: str, output: str, files: Iterable[str] = (), inputs: str = "") -> dict[str, str]:
    """What a script is told of its work folder. `inputs`: the folder of its inputs, where it has any."""
    placed = {name: f"{work}/{name}" for name in files}
    if inputs:
        placed["SKILLFLEET_INPUT_DIR"] = inputs
    return {**placed, "HOME": work, "TMPDIR": work, "SKILLFLEET_OUTPUT_DIR": output}


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
