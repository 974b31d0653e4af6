"""Whose is what outlives a process: told by marks that no later process shares."""

import os
from pathlib import Path
from typing import NamedTuple


class Owner(NamedTuple):
    """`started`: in ticks since the host's boot. `namespace`: in which the process id counts."""

    pid: int
    started: int
    namespace: int

    def __str__(self) -> str:
        return "-".join(map(repr, self))

    @property
    def dead(self) -> bool:
        """Of a process in another namespace nobody can tell; it counts as alive."""
        return self.namespace == _namespace() and _started(self.pid) != self.started


def this_process() -> Owner:
    return Owner(os.getpid(), _started(os.getpid()), _namespace())


def owner_of(mark: str) -> Owner | None:
    """What `str` made of an owner; None: it is none of ours."""
    try:
        pid, started, namespace = map(int, mark.split("-"))
    except ValueError:
        return None
    return Owner(pid, started, namespace)


def _namespace() -> int:
    return Path("/proc/self/ns/pid").stat().st_ino


def _started(pid: int) -> int:
    """0 where there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(stat.rpartition(")")[2].split()[19])
