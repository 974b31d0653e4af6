"""Builds the environments that skills ask for: each once per machine, whole or not at all."""

import contextlib
import hashlib
import json
import os
import platform
import shutil
import sysconfig
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event

from ..python import base_interpreter
from ..skills.models import Skill
from ..wire.contract import ToolError
from .declared import Wanted, existing_venv, wanted
from .failures import build_cancelled, build_failed
from .progress import Tell, silent
from .shelf import Shelf, measure
from .uv import BuildCancelledError, BuildFailedError, BuildTimeoutError, Limits, run, run_uv

FAILURE_REMEMBERED_S = 60.0


@dataclass(frozen=True, slots=True)
class _Order:
    """One caller's wish for an environment."""

    key: str
    skill: Skill
    needs: Wanted
    cancelled: Event
    tell: Tell


class Environments:
    """Environments lie in `folder`, named by what they hold; threads and processes may share it.

    When it takes more than `max_bytes`, uv's cache included, those that nobody has used for longest are removed.
    """

    def __init__(
        self,
        folder: Path,
        build_timeout_s: float = 600.0,
        failure_remembered_s: float = FAILURE_REMEMBERED_S,
        max_bytes: int | None = None,
    ) -> None:
        self._shelf = Shelf(folder.absolute(), max_bytes)
        self._cache = Path(os.environ.get("UV_CACHE_DIR") or self._shelf.cache).absolute()
        self._build_timeout_s = build_timeout_s
        self._failure_remembered_s = failure_remembered_s
        self._failures: dict[str, tuple[ToolError, float]] = {}

    def interpreter_for(
        self, skill: Skill, source: str | None = None, cancelled: Event | None = None, progress: Tell = silent
    ) -> Path | ToolError:
        """As `leased`, for those who don't mind that it may be removed once its space is needed."""
        with self.leased(skill, source, cancelled, progress) as interpreter:
            return interpreter

    @contextlib.contextmanager
    def leased(
        self, skill: Skill, source: str | None = None, cancelled: Event | None = None, progress: Tell = silent
    ) -> Iterator[Path | ToolError]:
        """The interpreter for the skill's scripts; `source` is the one that will run, if it is known.

        The first call for new requirements builds, which takes seconds to minutes; `cancelled` ends that at once,
        `progress` is told of it. While inside, nobody removes the environment.
        """
        found = existing_venv(skill) or wanted(skill, source)
        with contextlib.ExitStack() as lease:
            if isinstance(found, Wanted):
                # Nothing declared: an empty environment, so that what a host's own Python carries is never relied on.
                tell = progress if found.lines else silent
                order = _Order(environment_key(found), skill, found, cancelled or Event(), tell)
                try:
                    lease.enter_context(self._shelf.in_use(order.key, order.cancelled))
                    found = self._interpreter(order)
                except BuildCancelledError:
                    found = build_cancelled(skill)
            yield found

    def _interpreter(self, order: _Order) -> Path | ToolError:
        if not self._is_built(order.key):
            waits = partial(order.tell, "waiting for the same environment, which another call builds")
            with self._shelf.building(order.key, order.cancelled, waits):
                failure = self._built_now(order)
            if failure is not None:
                return failure
        self._shelf.used(order.key)
        return _python(self._shelf.folder / order.key)

    def _built_now(self, order: _Order) -> ToolError | None:
        """Call under the lock: whoever held it before may have done it, or failed at it."""
        if self._is_built(order.key):
            return None
        if failure := self._remembered(order.key):
            return failure
        failure = self._attempt(order)
        self._shelf.make_room(order.cancelled)
        return failure

    def _is_built(self, key: str) -> bool:
        return _python(self._shelf.folder / key).exists()

    def _remembered(self, key: str) -> ToolError | None:
        failure, at = self._failures.get(key, (None, 0.0))
        return failure if time.monotonic() - at < self._failure_remembered_s else None

    def _attempt(self, order: _Order) -> ToolError | None:
        key, began = order.key, time.monotonic()
        self._shelf.sweep(key)
        temporary, place = self._shelf.temporary(key), self._shelf.folder / key
        temporary.mkdir()
        order.tell(f"building the environment of {order.skill.name!r} ({order.needs.origin})")
        try:
            limits = Limits(began + self._build_timeout_s, order.cancelled)
            self._build(temporary, order.needs, limits, order.tell)
            if place.exists():
                place.rename(temporary / "broken")
            (temporary / "environment").rename(place)
        except BuildTimeoutError:
            reason = f"it took longer than {self._build_timeout_s:g} s"
        except BuildFailedError as failed:
            reason = str(failed)
        else:
            self._failures.pop(key, None)
            order.tell(f"the environment is ready after {time.monotonic() - began:.1f} s")
            return None
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        failure = build_failed(order.skill, order.needs, reason)
        self._failures[key] = failure, time.monotonic()
        return failure

    def _build(self, temporary: Path, needs: Wanted, limits: Limits, tell: Tell) -> None:
        base, environment = str(base_interpreter()), temporary / "environment"
        place = ["venv", "--relocatable", "--no-project", "--no-python-downloads", "--python", base]
        run_uv([*place, str(environment)], temporary, self._cache, limits)
        if needs.lines:
            file = temporary / "requirements.txt"
            file.write_text("".join(f"{line}\n" for line in needs.lines), "utf-8")
            install = ["pip", "install", "--python", str(_python(environment)), "--requirement", str(file)]
            wheels_only = ["--no-build"] if needs.wheels_only else []
            run_uv([*install, *wheels_only], temporary, self._cache, limits, tell)
            _compile(base, environment, temporary, limits)
        measure(environment)


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


def _python(environment: Path) -> Path:
    return environment / "bin" / "python"
