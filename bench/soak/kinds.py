"""The runs of a soak, and how each ends when nobody hurts it."""

import shutil
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from skillfleet_workers.runtimes.base import Limits, RunRequest, Runtime, RuntimeUnavailableError
from skillfleet_workers.wire.execution import ExecutionStatus

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
CANCEL_AFTER_S = 0.1
UNAVAILABLE = "unavailable"
DISTURBED = ("lost", "killed", UNAVAILABLE)
"""How a run may end of which something was killed."""

LEAVES_A_DAEMON = """
import os, time
reading, writing = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(writing, b"x")
        time.sleep(600)
    os._exit(0)
os.read(reading, 1)
for folder in ("/dev/shm", os.environ["TMPDIR"]):
    with open(os.path.join(folder, "left"), "wb") as file:
        file.write(bytes(1_000_000))
"""


@dataclass(frozen=True, slots=True)
class Kind:
    name: str
    runtime: str
    request: RunRequest
    ends: ExecutionStatus
    weight: int
    cancelled: bool = False

    def run(self, runtimes: Mapping[str, Runtime]) -> tuple[str, str]:
        """The status in which it ended, or that its runtime was broken; and the reason, if there is one."""
        cancelled = threading.Event()
        canceller = threading.Timer(CANCEL_AFTER_S, cancelled.set)
        if self.cancelled:
            canceller.start()
        try:
            done = runtimes[self.runtime].run(replace(self.request, cancelled=cancelled))
            return done.status, done.error or done.stderr
        except RuntimeUnavailableError as broken:
            return UNAVAILABLE, str(broken)
        finally:
            canceller.cancel()


def kinds(skill: Path, interpreter: Path, runtimes: Mapping[str, Runtime]) -> Iterator[Kind]:
    """Those for which there is a runtime."""

    def asked(**what: Any) -> RunRequest:
        return replace(RunRequest("soak", skill, interpreter, "print(2 + 2)", ENVIRONMENT, 60.0), **what)

    bash = Path(shutil.which("bash") or "/bin/bash")
    sleeps = asked(script="import time; time.sleep(600)")
    preload = ("asyncio", "decimal", "sqlite3", "xml.etree.ElementTree")
    hog = asked(script="x = bytearray(400 << 20)", limits=Limits(memory_mb=256))
    yield Kind("fresh process", "process", asked(), "succeeded", 1)
    if "warm" in runtimes:
        yield Kind("trivial", "warm", asked(), "succeeded", 8)
        yield Kind("fails", "warm", asked(script="1 / 0"), "failed", 1)
        yield Kind("preloaded", "warm", asked(script="import sqlite3", preload=preload), "succeeded", 4)
        yield Kind("timeout", "warm", replace(sleeps, timeout_s=0.2), "timed_out", 1)
        yield Kind("out of memory", "warm", hog, "oom_killed", 1)
        yield Kind("leftovers", "warm", asked(script=LEAVES_A_DAEMON), "succeeded", 2)
        yield Kind("cancelled", "warm", sleeps, "cancelled", 1, cancelled=True)
        yield Kind("bash", "warm", asked(script="echo 4", interpreter=bash, language="shell"), "succeeded", 2)
    if "container" in runtimes:
        yield Kind("container", "container", asked(), "succeeded", 2)
        yield Kind("container, leftovers", "container", asked(script=LEAVES_A_DAEMON), "succeeded", 1)
        yield Kind("container, timeout", "container", replace(sleeps, timeout_s=0.2), "timed_out", 1)
