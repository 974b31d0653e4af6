"""What the runtimes' conformance suite needs: the runtimes, which case holds for which, and who still lives."""

import sys
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from skillfleet_workers.runtimes.base import RunRequest, Runtime
from skillfleet_workers.runtimes.process import ProcessRuntime
from skillfleet_workers.wire.execution import ScriptExecution

RUNTIMES: dict[str, Callable[[Path], Runtime]] = {"process": ProcessRuntime}

APPLIES: dict[str, tuple[str, ...]] = {
    "outcome": ("process",),
    "request": ("process",),
    "output": ("process",),
    "flat memory": ("process",),
    "killing": ("process",),
    "death of a supervisor": ("process",),
    "death of the worker": ("process",),
    "many runs": ("process",),
}
"""For which runtimes a group of cases holds."""

MARK = "SKILLFLEET_TEST_RUN"
PATIENCE_S = 20.0


def applies(group: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("runtime", APPLIES[group], indirect=True)


def eventually(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while not (held := condition()) and time.monotonic() < deadline:
        threading.Event().wait(0.005)
    return held


@dataclass
class Bench:
    """One runtime, one skill folder, and the mark that every process of this test carries in its environment."""

    runtime: Runtime
    folder: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    def request(self, script: str | Path, timeout_s: float = 30.0, **more: Any) -> RunRequest:
        skill = self.folder / "skill"
        skill.mkdir(exist_ok=True)
        environment = {"PATH": "/usr/bin:/bin", "FOLDER": str(self.folder), MARK: self.mark}
        plain = RunRequest("demo", skill, Path(sys.executable), script, environment, timeout_s)
        return replace(plain, **more)

    def run(self, script: str | Path, timeout_s: float = 30.0, **more: Any) -> ScriptExecution:
        return self.runtime.run(self.request(script, timeout_s, **more))

    def in_flight(self, script: str, **more: Any) -> "Future[ScriptExecution]":
        """A run whose script has written the file `up`."""
        pool = ThreadPoolExecutor(1)
        flight = pool.submit(self.run, script, **more)
        pool.shutdown(wait=False)
        assert eventually(lambda: self.said("up") != "" or flight.done())
        assert not flight.done(), flight.result()
        return flight

    def said(self, name: str) -> str:
        """What a script has written into a file of the test's folder; empty before."""
        with suppress(FileNotFoundError):
            return (self.folder / name).read_text()
        return ""

    def alive(self) -> list[int]:
        """Processes of this test's scripts."""
        return living(self.mark)

    def resident_pid(self) -> int:
        """The supervisor's, which has run something."""
        assert isinstance(self.runtime, ProcessRuntime)
        assert self.runtime.resident_pid is not None
        return self.runtime.resident_pid


def living(mark: str) -> list[int]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found


def family(pid: int) -> list[psutil.Process]:
    """A process and all its descendants."""
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def gone(processes: list[psutil.Process]) -> bool:
    return not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in processes)
