"""What a worker holds of its host, and the ways in which runs wear it."""

import os
import subprocess
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, fields
from pathlib import Path

import psutil
from tests.conformance import scripts
from tests.conformance.harness import PATIENCE_S, Bench, eventually
from tests.conformance.living import holders

from skillfleet_workers.runtimes.base import RuntimeUnavailableError
from skillfleet_workers.runtimes.cgroups import PREFIX
from skillfleet_workers.runtimes.container.engine import OWNER_LABEL
from skillfleet_workers.wire.execution import ScriptExecution

FILE_LEFT = "import os; open(os.path.join(os.environ['TMPDIR'], 'left'), 'w').write('x' * 1_000_000)"

ENGINES_OWN = "/docker/"
"""Among mounts: those of containers, which are counted by themselves."""

LOOKS = 20
AFTER_A_KILL = ("lost", "killed", "cancelled", "unavailable")
"""How a run may end whose holder was killed."""


@dataclass(frozen=True)
class Held:
    """Counts, taken by one worker process."""

    descriptors: int
    processes: int
    threads: int
    mounts: int
    cgroups: int
    scratch_files: int
    shared_memory_files: int

    def no_more_than(self, other: "Held") -> bool:
        return all(getattr(self, field.name) <= getattr(other, field.name) for field in fields(self))


def groups_of(pid: int) -> int:
    """How many control groups a worker has made that are still there."""
    own = f"/{PREFIX}-{pid}-"
    # os.walk goes on where a group vanishes under it.
    return sum("cgroup.procs" in files and own in folder for folder, _, files in os.walk("/sys/fs/cgroup"))


def containers_of(pid: int) -> int:
    """How many containers a worker has made that are still there."""
    listing = ["docker", "ps", "--all", "--format", f'{{{{.Label "{OWNER_LABEL}"}}}}']
    owners = subprocess.run(listing, capture_output=True, check=True, text=True).stdout.splitlines()
    return sum(owner.startswith(f"{pid}-") for owner in owners)


def held(scratch: Path) -> Held:
    us = psutil.Process()
    return Held(
        us.num_fds(),
        len(us.children(recursive=True)),
        us.num_threads(),
        sum(ENGINES_OWN not in line for line in Path("/proc/self/mountinfo").read_text().splitlines()),
        groups_of(os.getpid()),
        sum(len(folders) + len(files) for _, folders, files in os.walk(scratch)),  # it may change meanwhile
        sum(1 for _ in Path("/dev/shm").iterdir()),
    )


def settled(scratch: Path) -> Held:
    """What is held once spares are made and what was ended is gone: at first, both go on behind a run."""
    looks: deque[Held] = deque(maxlen=LOOKS)

    def same() -> bool:
        looks.append(held(scratch))
        return len(looks) == LOOKS and len(set(looks)) == 1

    assert eventually(same)
    return looks[0]


def result_of(flight: "Future[ScriptExecution]") -> str:
    """A status, or that the runtime itself was broken: both may follow the death of what held a script."""
    try:
        return flight.result(PATIENCE_S).status
    except RuntimeUnavailableError:
        return "unavailable"


def cancelled_in_flight(bench: Bench) -> None:
    cancelled = threading.Event()
    flight = bench.in_flight(scripts.DAEMON_THEN_SLEEP, cancelled=cancelled)
    cancelled.set()
    assert flight.result(PATIENCE_S).status == "cancelled"


def killed_in_flight(bench: Bench) -> None:
    flight = bench.in_flight(scripts.SLEEPER)
    psutil.Process(bench.up("up")[0]).kill()
    assert result_of(flight) == "killed"


def holder_killed_in_flight(bench: Bench, level: int = 0) -> int:
    """Kill the one that stands so far above the script; how many stand there."""
    cancelled = threading.Event()
    flight = bench.in_flight(scripts.DAEMON_THEN_SLEEP, cancelled=cancelled)
    above = holders(bench.up("up")[0], os.getpid())
    above[level].kill()
    assert bench.run("print(1)").stdout == "1\n"
    cancelled.set()
    assert result_of(flight) in AFTER_A_KILL
    assert eventually(lambda: bench.alive() == [])
    return len(above)


def ends_as(script: str, status: str, timeout_s: float = 30.0) -> Callable[[Bench], object]:
    def kind(bench: Bench) -> None:
        assert bench.run(script, timeout_s).status == status

    return kind


HARMLESS: tuple[Callable[[Bench], object], ...] = (
    ends_as("print('x' * 100_000)", "succeeded"),
    ends_as("1 / 0", "failed"),
    ends_as(scripts.DAEMON, "succeeded"),
    ends_as("import os; os.kill(os.getpid(), 11)", "killed"),
    ends_as("import time; time.sleep(600)", "timed_out", 0.2),
    ends_as(FILE_LEFT, "succeeded"),
    cancelled_in_flight,
    killed_in_flight,
)
"""Nobody else's processes are hurt."""

KINDS = (*HARMLESS, holder_killed_in_flight)
