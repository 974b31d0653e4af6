"""What lives, as the host's /proc tells it: it shows the processes of every sandbox and container too.

A script names its processes `MARK:ROLE` (`scripts.HELLO`); the mark in the environment finds those that do not,
unless they are forks of an interpreter that was started before.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

MARK = "SKILLFLEET_TEST_RUN"
NAME_LENGTH = 8
"""Of a mark in a process's name: the kernel keeps 15 bytes of that."""


def _stats() -> Iterator[tuple[int, str, str]]:
    """Process id, name and state of all that live."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            head, _, tail = (folder / "stat").read_text(errors="replace").rpartition(")")
            if (state := tail.split()[0]) not in "ZX":
                yield int(folder.name), head.partition("(")[2], state


def named(mark: str, role: str = "") -> list[int]:
    """The processes that have named themselves so; any role when none is given."""
    return [pid for pid, name, _ in _stats() if name.startswith(f"{mark[:NAME_LENGTH]}:{role}")]


def marked(mark: str) -> list[int]:
    """All that can be known to belong to the mark."""
    wanted = f"{MARK}={mark}".encode()
    found = set(named(mark))
    for pid, _, _ in _stats():
        with suppress(OSError):
            if wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                found.add(pid)
    return sorted(found)


def family(pid: int) -> list[psutil.Process]:
    """A process and all its descendants."""
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def holders(pid: int, worker: int) -> list[psutil.Process]:
    """What stands between a script and its worker, the script's parent first; all its ancestors in a container."""
    above = psutil.Process(pid).parents()
    pids = [process.pid for process in above]
    return above[: pids.index(worker)] if worker in pids else above


def gone(processes: list[psutil.Process]) -> bool:
    return not any(_lives(process) for process in processes)


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
