"""One runtime, one skill folder, and what a test can do with them."""

import sys
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.conformance.living import MARK, marked, named

from skillfleet_workers.runtimes.base import RunRequest, Runtime
from skillfleet_workers.runtimes.process import ProcessRuntime
from skillfleet_workers.wire.execution import ScriptExecution

PATIENCE_S = 60.0


def eventually(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while not (held := condition()) and time.monotonic() < deadline:
        threading.Event().wait(0.005)
    return held


@dataclass
class Bench:
    """Every process of this test's scripts carries the mark, in its environment or in its name.

    `name` is the runtime's in the table."""

    name: str
    runtime: Runtime
    folder: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    def request(self, script: str | Path, timeout_s: float = 30.0, **more: Any) -> RunRequest:
        skill = self.folder / "skill"
        skill.mkdir(exist_ok=True)
        environment = {"PATH": "/usr/bin:/bin", MARK: self.mark}
        plain = RunRequest("demo", skill, Path(sys.executable), script, environment, timeout_s)
        return replace(plain, **more)

    def run(self, script: str | Path, timeout_s: float = 30.0, **more: Any) -> ScriptExecution:
        return self.runtime.run(self.request(script, timeout_s, **more))

    def in_flight(self, script: str, **more: Any) -> "Future[ScriptExecution]":
        """A run whose script is seen to live, in the role `up`; none other of this test may be."""
        pool = ThreadPoolExecutor(1)
        flight = pool.submit(self.run, script, **more)
        pool.shutdown(wait=False)
        assert eventually(lambda: bool(self.up("up")) or flight.done())
        assert not flight.done(), flight.result()
        return flight

    def up(self, role: str = "") -> list[int]:
        """Processes of this test's scripts that have told their role."""
        return named(self.mark, role)

    def alive(self) -> list[int]:
        """Whatever of this test's scripts lives."""
        return marked(self.mark)

    def resident_pid(self) -> int:
        """The supervisor's, which has run something."""
        assert isinstance(self.runtime, ProcessRuntime)
        assert self.runtime.resident_pid is not None
        return self.runtime.resident_pid
