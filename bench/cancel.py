"""From a cancellation, or a deadline, to the death of the last process of a script that has left its session."""

import os
import secrets
import select
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import yaml

from skillfleet.fleet import Fleet
from skillfleet.local.children import Children
from skillfleet_workers.wire.contract import RUN_PYTHON

from .fleet import PATIENCE_S, SKILL, BenchError, SkillFleet, bench_settings
from .measure import heading, row, summary

PROCESSES = 3
SCRIPT = """
import ctypes, os, time
ctypes.CDLL(None).prctl(15, b"NAME")
if os.fork() == 0:
    os.setsid()
    os.fork()
time.sleep(900)
"""
SOON_S = 1.5
"""A time limit that leaves a script time to start."""


@dataclass(frozen=True, slots=True)
class Deaths:
    """Milliseconds until no process of the script lived."""

    after_cancel: list[float]
    after_deadline: list[float]


def cancel(cancels: int, deadlines: int) -> None:
    heading("Until the last process of a running script is dead, daemons included (ms)")
    deaths = measure_deaths(cancels, deadlines)
    print(row("after a cancellation", summary(deaths.after_cancel), "ms"))
    print(row("after its deadline", summary(deaths.after_deadline), "ms"))


def measure_deaths(cancels: int, deadlines: int) -> Deaths:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="skillfleet-bench-")))
        settings = bench_settings(folder)
        fleet = stack.enter_context(Fleet(settings))
        children = Children()
        stack.callback(children.stop)
        SkillFleet(settings, fleet, children, 2).call(4)
        return Deaths(
            after_cancel=[_after_cancel(fleet, folder) for _ in range(cancels)],
            after_deadline=[_after_deadline(fleet, folder) for _ in range(deadlines)],
        )


def _after_cancel(fleet: Fleet, folder: Path) -> float:
    def end(conversation: str) -> float:
        began = time.time()
        fleet.cancel(conversation)
        return began

    return _death(fleet, folder, None, end)


def _after_deadline(fleet: Fleet, folder: Path) -> float:
    return _death(fleet, folder, SOON_S, lambda name: fleet.transcript(name).deadline)


def _death(fleet: Fleet, folder: Path, timeout: float | None, end: Callable[[str], float]) -> float:
    """`end` gives the moment from which on the script should be dead."""
    name = f"sf-{secrets.token_hex(4)}"
    conversation = fleet.submit("Wait.", model=_model(folder, name), timeout=timeout)
    watched = _living(name)
    try:
        began = end(conversation)
        _wait_dead(watched)
        return (time.time() - began) * 1000
    finally:
        for one in watched:
            os.close(one)


def _model(folder: Path, name: str) -> str:
    arguments = {"skill_name": SKILL, "script": SCRIPT.replace("NAME", name), "timeout": 900}
    path = folder / "waiting.yaml"
    calls = [{"tool": RUN_PYTHON.tool, "arguments": arguments}]
    path.write_text(yaml.safe_dump({"replies": [{"calls": calls}, {"text": "Never said."}]}))
    return f"scripted:{path}"


def _living(name: str) -> list[int]:
    """A pidfd of each process of the script, once all live."""
    give_up = time.monotonic() + PATIENCE_S
    while len(found := _named(name)) < PROCESSES:
        if time.monotonic() > give_up:
            raise BenchError("the script that is to be cancelled did not start")
        time.sleep(0.01)
    return [os.pidfd_open(pid) for pid in found]


def _named(name: str) -> list[int]:
    found = []
    for comm in Path("/proc").glob("[0-9]*/comm"):
        try:
            if comm.read_text().strip() == name:
                found.append(int(comm.parent.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def _wait_dead(watched: list[int]) -> None:
    for one in watched:
        if not select.select([one], [], [], PATIENCE_S)[0]:
            raise BenchError("a process of a cancelled script lives on")
