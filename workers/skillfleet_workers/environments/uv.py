"""Running uv: with a small environment, for as long as it is wanted, and never leaving a part of it behind."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import uv

from .progress import GrowingLog, Tell, silent, without

GUARD = Path(__file__).with_name("guard.py")
POLL_S = 0.01

_PASSED = frozenset({"PATH", "HOME", "TMPDIR", "LANG", "REQUESTS_CA_BUNDLE"})
_PASSED_PREFIXES = ("UV_", "SSL_")
_PASSED_SUFFIX = "_PROXY"


class BuildFailedError(Exception):
    """The message is the tool's own reason."""


class BuildTimeoutError(Exception):
    """The deadline passed; what had been started is dead."""


class BuildCancelledError(Exception):
    """Nobody wants it any more; what had been started is dead."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a build may go on. `deadline` by the monotonic clock."""

    deadline: float
    cancelled: Event


def uv_environment(environment: Mapping[str, str], cache: Path) -> dict[str, str]:
    """What of the worker's environment uv sees. A package that is built from source sees it too."""
    passed = {
        name: value
        for name, value in environment.items()
        if name in _PASSED or name.startswith(_PASSED_PREFIXES) or name.upper().endswith(_PASSED_SUFFIX)
    }
    return {**passed, "UV_CACHE_DIR": str(cache)}


def run_uv(arguments: Sequence[str], folder: Path, cache: Path, limits: Limits, tell: Tell | None = None) -> None:
    """`tell` is called with the lines of what uv says.

    Raises:
        BuildFailedError, BuildTimeoutError, BuildCancelledError
    """
    quiet = ["--quiet"] if tell is None else []
    command = [uv.find_uv_bin(), *quiet, "--color", "never", "--no-progress", *arguments]
    hidden = (f"{folder}/", f"{cache}/")
    run(command, folder, uv_environment(os.environ, cache), limits, tell or silent, hidden)


def run(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    limits: Limits,
    tell: Tell = silent,
    hidden: tuple[str, ...] = (),
) -> None:
    """Raises: BuildFailedError, BuildTimeoutError, BuildCancelledError"""
    log = folder / "log"
    # A file, not a pipe: a process that outlives uv could hold a pipe open.
    with log.open("wb") as stderr, log.open("rb") as growing:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(GUARD), *command],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
        )
        lines = GrowingLog(growing, tell, hidden)
        with process:
            try:
                _wait(process, limits, lines)
            finally:
                # What uv left running ends too. The group's number stays taken for as long as one of it lives.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        lines.look(last=True)
    if process.returncode:
        raise BuildFailedError(without(log.read_text("utf-8", "replace"), hidden))


def _wait(process: "subprocess.Popen[bytes]", limits: Limits, lines: GrowingLog) -> None:
    while process.poll() is None:
        if limits.cancelled.wait(POLL_S):
            raise BuildCancelledError
        if time.monotonic() > limits.deadline:
            raise BuildTimeoutError
        lines.look()
