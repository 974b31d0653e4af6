"""Running uv: with a small environment, under a deadline, and never leaving a part of it behind."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import uv

_PASSED = frozenset({"PATH", "HOME", "TMPDIR", "LANG", "REQUESTS_CA_BUNDLE"})
_PASSED_PREFIXES = ("UV_", "SSL_")
_PASSED_SUFFIX = "_PROXY"


class BuildFailedError(Exception):
    """The message is the tool's own reason."""


class BuildTimeoutError(Exception):
    """The deadline passed; what had been started is dead."""


def uv_environment(environment: Mapping[str, str], cache: Path) -> dict[str, str]:
    """What of the worker's environment uv sees. A package that is built from source sees it too."""
    passed = {
        name: value
        for name, value in environment.items()
        if name in _PASSED or name.startswith(_PASSED_PREFIXES) or name.upper().endswith(_PASSED_SUFFIX)
    }
    return {**passed, "UV_CACHE_DIR": str(cache)}


def run_uv(arguments: Sequence[str], folder: Path, cache: Path, deadline: float) -> None:
    """`deadline` by the monotonic clock.

    Raises:
        BuildFailedError
        BuildTimeoutError
    """
    command = [uv.find_uv_bin(), "--quiet", "--color", "never", "--no-progress", *arguments]
    run(command, folder, uv_environment(os.environ, cache), deadline)


def run(command: Sequence[str], folder: Path, environment: Mapping[str, str], deadline: float) -> None:
    """Raises: BuildFailedError, BuildTimeoutError"""
    log = folder / "log"
    # A file, not a pipe: a process that outlives uv could hold a pipe open.
    with log.open("wb") as stderr:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
        )
        try:
            returncode = process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise BuildTimeoutError from None
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    if returncode:
        raise BuildFailedError(log.read_text("utf-8", "replace").replace(f"{folder}/", ""))
