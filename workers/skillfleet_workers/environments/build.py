"""Builds the environments that skills ask for: each once per machine, whole or not at all."""

import contextlib
import fcntl
import hashlib
import json
import os
import platform
import shutil
import sys
import sysconfig
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import IO

from ..skills.models import Skill
from ..wire.contract import ToolError
from .declared import Wanted, existing_venv, wanted
from .uv import BuildCancelledError, BuildFailedError, BuildTimeoutError, Limits, run, run_uv

FAILURE_REMEMBERED_S = 60.0
REASON_LINES = 12
REASON_CHARS = 1_500
LOCK_POLL_S = 0.05
LAST_USED = ".last-used"


def base_interpreter() -> Path:
    """The interpreter outside of this process's own virtual environment."""
    return Path(os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable))


class Environments:
    """Environments lie in `folder`, named by what they hold; threads and processes may share it."""

    def __init__(
        self,
        folder: Path,
        build_timeout_s: float = 600.0,
        failure_remembered_s: float = FAILURE_REMEMBERED_S,
    ) -> None:
        self._folder = folder.absolute()
        self._cache = Path(os.environ.get("UV_CACHE_DIR") or self._folder / ".uv-cache").absolute()
        self._build_timeout_s = build_timeout_s
        self._failure_remembered_s = failure_remembered_s
        self._failures: dict[str, tuple[ToolError, float]] = {}

    def interpreter_for(
        self, skill: Skill, source: str | None = None, cancelled: Event | None = None
    ) -> Path | ToolError:
        """The interpreter for the skill's scripts; `source` is the one that will run, if it is known.

        The first call for new requirements builds, which takes seconds to minutes; `cancelled` ends that at once.
        """
        own = existing_venv(skill)
        if own is not None:
            return own
        needs = wanted(skill, source)
        if isinstance(needs, ToolError):
            return needs
        # Nothing declared: an empty environment, so that what a host's own Python carries is never relied on.
        return self._interpreter(skill, needs, cancelled or Event())

    def _interpreter(self, skill: Skill, needs: Wanted, cancelled: Event) -> Path | ToolError:
        key = environment_key(needs)
        if not self._is_built(key):
            try:
                with self._locked(key, cancelled):
                    failure = self._built_now(key, skill, needs, cancelled)
            except BuildCancelledError:
                return _cancelled(skill)
            if failure is not None:
                return failure
        with contextlib.suppress(OSError):
            (self._folder / key / LAST_USED).touch()
        return _python(self._folder / key)

    def _built_now(self, key: str, skill: Skill, needs: Wanted, cancelled: Event) -> ToolError | None:
        """Call under the lock: whoever held it before may have done it, or failed at it."""
        if self._is_built(key):
            return None
        return self._remembered(key) or self._attempt(key, skill, needs, cancelled)

    def _is_built(self, key: str) -> bool:
        return _python(self._folder / key).exists()

    def _remembered(self, key: str) -> ToolError | None:
        failure, at = self._failures.get(key, (None, 0.0))
        return failure if time.monotonic() - at < self._failure_remembered_s else None

    @contextlib.contextmanager
    def _locked(self, key: str, cancelled: Event) -> Iterator[None]:
        """flock belongs to the open file: it holds between threads as well, and ends with its process.

        Raises:
            BuildCancelledError: while it waited.
        """
        locks = self._folder / ".locks"
        locks.mkdir(parents=True, exist_ok=True)
        with (locks / key).open("a") as lock:
            while not _taken(lock):
                if cancelled.wait(LOCK_POLL_S):
                    raise BuildCancelledError
            try:
                yield
            finally:
                fcntl.flock(lock, fcntl.LOCK_UN)

    def _attempt(self, key: str, skill: Skill, needs: Wanted, cancelled: Event) -> ToolError | None:
        for stale in self._folder.glob(f"{key}.*.tmp"):
            shutil.rmtree(stale, ignore_errors=True)
        temporary = self._folder / f"{key}.{uuid.uuid4().hex}.tmp"
        temporary.mkdir()
        try:
            self._build(temporary, needs, Limits(time.monotonic() + self._build_timeout_s, cancelled))
            if (self._folder / key).exists():
                (self._folder / key).rename(temporary / "broken")
            (temporary / "environment").rename(self._folder / key)
        except BuildTimeoutError:
            reason = f"it took longer than {self._build_timeout_s:g} s"
        except BuildFailedError as failed:
            reason = _trimmed(str(failed))
        else:
            self._failures.pop(key, None)
            return None
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        failure = _failure(skill, needs, reason)
        self._failures[key] = failure, time.monotonic()
        return failure

    def _build(self, temporary: Path, needs: Wanted, limits: Limits) -> None:
        base, environment = str(base_interpreter()), temporary / "environment"
        place = ["venv", "--relocatable", "--no-project", "--no-python-downloads", "--python", base]
        run_uv([*place, str(environment)], temporary, self._cache, limits)
        if not needs.lines:
            return
        file = temporary / "requirements.txt"
        file.write_text("".join(f"{line}\n" for line in needs.lines), "utf-8")
        install = ["pip", "install", "--python", str(_python(environment)), "--requirement", str(file)]
        run_uv([*install, *(["--no-build"] if needs.wheels_only else [])], temporary, self._cache, limits)
        _compile(base, environment, temporary, limits)


def environment_key(needs: Wanted) -> str:
    """The same for the same requirements, interpreter and platform, in whatever order they are written."""
    parts = [
        needs.lines, needs.digests, needs.wheels_only,
        str(base_interpreter()), platform.python_version(), sysconfig.get_platform(),
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def _compile(base: str, environment: Path, temporary: Path, limits: Limits) -> None:
    """Bytecode, without which every import from a read-only environment is slow.

    Not uv's --compile-bytecode: it starts the environment's interpreter, and with it any .pth code of the
    packages, outside of the sandbox. The packages' own tests, two thirds of pandas, are never imported.
    """
    tests = r"[/\\]tests[/\\]"
    command = [base, "-I", "-S", "-m", "compileall", "-q", "-j", "0", "-x", tests, str(environment / "lib")]
    with contextlib.suppress(BuildFailedError):  # Some packages carry files that are not for this Python.
        run(command, temporary, {}, limits)


def _taken(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _python(environment: Path) -> Path:
    return environment / "bin" / "python"


def _trimmed(log: str) -> str:
    lines = [line.rstrip() for line in log.strip().splitlines() if line.strip()]
    return "\n".join(lines[-REASON_LINES:])[-REASON_CHARS:] or "uv gave no reason"


def _failure(skill: Skill, needs: Wanted, reason: str) -> ToolError:
    packages = ", ".join(line for line in needs.lines if not line.startswith("-"))
    wheels = " Only packages with wheels can be asked for in a script." if needs.wheels_only else ""
    return ToolError(
        error="environment_build_failed",
        message=f"The environment of {skill.name!r} ({packages[:300]}) could not be built: {reason}",
        fix=f"Correct the package that is named there in {needs.origin}, or do without it.{wheels}",
    )


def _cancelled(skill: Skill) -> ToolError:
    return ToolError(
        error="cancelled",
        message=f"The call was cancelled while the environment of {skill.name!r} was being built.",
        fix="Call it again if it is still wanted.",
    )
