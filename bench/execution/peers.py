"""How else a script is started."""

import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from ..fleet import BenchError
from .ours import TIMEOUT_S

Run = Callable[[], None]
"""One run, whose output was seen to be right."""


def naive(command: Sequence[str | Path], says: str) -> Run:
    """As anybody writes it."""

    def run() -> None:
        done = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S)
        if done.stdout.decode().strip() != says:
            raise BenchError(f"{command[0]} went wrong: {done}")

    return run


def python(interpreter: Path, script: str) -> list[str | Path]:
    return [interpreter, "-c", script]


def bubblewrap(command: Sequence[str | Path]) -> list[str | Path] | None:
    """The command in a sandbox; None where there is none."""
    binary = shutil.which("bwrap")
    view = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    return [binary, "--unshare-all", "--die-with-parent", "--new-session", *view, *command] if binary else None


def docker_run(image: str, script: str) -> list[str | Path]:
    return ["docker", "run", "--rm", "--network", "none", image, "python3", "-c", script]
