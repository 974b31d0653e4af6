"""What a worker process holds of its host: counted before and after."""

import contextlib
import ctypes
import glob
import os
import socket
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import docker
import psutil

from skillfleet_workers.runtimes.cgroups import Cgroups
from skillfleet_workers.runtimes.container.engine import owned
from skillfleet_workers.runtimes.owner import this_process

PR_SET_CHILD_SUBREAPER = 36
CONNECTIONS = "connections to the engine"
MAY_GROW = {"resident memory, MB": 30, "tmpfs of the machine, MB": 64, CONNECTIONS: 50}
"""For what Python and malloc keep; for what else the machine does; for what the Docker SDK keeps, which has an end.
All else may not grow."""


@dataclass(frozen=True, slots=True)
class Watched:
    """`engine`: None where there are no containers; `cgroups`: where there are no control groups."""

    scratch: Path
    engine: docker.DockerClient | None
    cgroups: Cgroups | None

    def held(self) -> dict[str, int]:
        reap_adopted()
        us, connections = psutil.Process(), _connections()
        prefixes = self.cgroups.own_prefixes if self.cgroups else []
        return {
            "descriptors": us.num_fds() - connections,
            CONNECTIONS: connections,
            "processes": len(us.children(recursive=True)),
            "threads": us.num_threads(),
            "mounts": sum("docker" not in line for line in Path("/proc/self/mountinfo").read_text().splitlines()),
            "control groups": sum(len(glob.glob(f"{glob.escape(prefix)}*")) for prefix in prefixes),  # noqa: PTH207
            "containers": len(owned(self.engine, this_process())) if self.engine else 0,
            "scratch files": sum(1 for _ in self.scratch.rglob("*")),
            "files in /dev/shm": len(os.listdir("/dev/shm")),  # noqa: PTH208
            "tmpfs of the machine, MB": _shared_memory_mb(),
            "resident memory, MB": us.memory_info().rss >> 20,
        }


def grown(before: Mapping[str, int], after: Mapping[str, int]) -> list[str]:
    return [what for what in before if after[what] > before[what] + MAY_GROW.get(what, 0)]


def adopt_orphans() -> None:
    """What outlives its parent becomes our child, so that it can be counted."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap_adopted() -> None:
    """As init does for others."""
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error, ChildProcessError):
            if child.status() == psutil.STATUS_ZOMBIE:
                os.waitpid(child.pid, os.WNOHANG)


def _connections() -> int:
    """All other sockets that we hold come in pairs, which have no names."""
    found = 0
    for descriptor in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208
        with contextlib.suppress(OSError):
            if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                with socket.socket(fileno=os.dup(descriptor)) as one:
                    found += bool(one.getpeername())
    return found


def _shared_memory_mb() -> int:
    facts = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    return int(facts["Shmem"].split()[0]) >> 10
