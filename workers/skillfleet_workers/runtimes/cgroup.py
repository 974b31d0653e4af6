"""One control group: what it limits, counts and kills."""

import errno
import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from .cgroup_places import UNIFIED, write

END_PATIENCE_S = 5.0
POLL_S = 0.001
EVENTS_BYTES = 512
CPU_PERIOD_US = 100_000


@dataclass(frozen=True, slots=True)
class MemoryFiles:
    """`swap_counts`: the swap file limits memory and swap together."""

    limit: str
    swap: str
    swap_counts: bool
    usage: str
    peak: str
    events: str


MEMORY_V1 = MemoryFiles(
    limit="memory.limit_in_bytes",
    swap="memory.memsw.limit_in_bytes",
    swap_counts=True,
    usage="memory.usage_in_bytes",
    peak="memory.max_usage_in_bytes",
    events="memory.oom_control",
)
MEMORY_V2 = MemoryFiles(
    limit="memory.max",
    swap="memory.swap.max",
    swap_counts=False,
    usage="memory.current",
    peak="memory.peak",
    events="memory.events",
)


@dataclass(slots=True)
class Cgroup:
    """One group in every hierarchy that holds it. `folders`: by controller."""

    folders: Mapping[str, Path]
    _events: int | None = field(default=None, init=False)

    @property
    def attach_files(self) -> list[str]:
        """A process that writes "0" into each of them is in, and so is all that it starts."""
        return [str(folder / "cgroup.procs") for folder in self._distinct()]

    def oom_kills(self) -> int:
        """How many of its processes were killed for memory, ever."""
        if self._events is None:
            self._events = os.open(self.folders["memory"] / self._memory.events, os.O_RDONLY | os.O_CLOEXEC)
        return _count(os.pread(self._events, EVENTS_BYTES, 0), b"oom_kill")

    def memory_bytes(self) -> int:
        return int((self.folders["memory"] / self._memory.usage).read_bytes())

    def peak_bytes(self) -> int | None:
        """None where the kernel does not keep it (version 2 before Linux 5.19)."""
        with suppress(FileNotFoundError):
            return int((self.folders["memory"] / self._memory.peak).read_bytes())
        return None

    def pids_max_hits(self) -> int:
        """How many forks the limit has refused."""
        return _count((self.folders["pids"] / "pids.events").read_bytes(), b"max")

    def limit_memory(self, limit_bytes: int) -> None:
        """Memory, and swap where there is any.

        Below what is in use: version 1 refuses (OSError), version 2 kills.
        """
        folder, files = self.folders["memory"], self._memory
        swap = str(limit_bytes if files.swap_counts else 0)
        try:
            write(folder / files.limit, str(limit_bytes))
        except OSError as wrong:
            if wrong.errno != errno.EINVAL or not files.swap_counts:
                raise
            write(folder / files.swap, swap)  # version 1 wants the sum to be the larger at every moment
            write(folder / files.limit, str(limit_bytes))
        with suppress(FileNotFoundError):
            write(folder / files.swap, swap)

    def limit_cpu(self, cpus: float | None) -> None:
        """Cores for all of it together, None: all there are. Nothing where the group is in no cpu hierarchy."""
        folder = self.folders.get("cpu")
        quota_us = int(cpus * CPU_PERIOD_US) if cpus else None
        if folder is None:
            return
        if folder == self.folders.get(UNIFIED):
            write(folder / "cpu.max", f"{quota_us or 'max'} {CPU_PERIOD_US}")
        else:
            write(folder / "cpu.cfs_period_us", str(CPU_PERIOD_US))
            write(folder / "cpu.cfs_quota_us", str(quota_us or -1))

    def cores(self) -> float | None:
        """What `limit_cpu` has set."""
        folder = self.folders["cpu"]
        name = "cpu.max" if folder == self.folders.get(UNIFIED) else "cpu.cfs_quota_us"
        quota = (folder / name).read_text().split()[0]
        return None if quota in ("max", "-1") else int(quota) / CPU_PERIOD_US

    def throttled(self) -> int:
        """In how many periods its limit of cores has held it back."""
        return _count((self.folders["cpu"] / "cpu.stat").read_bytes(), b"nr_throttled")

    def kill(self) -> None:
        """All of its processes; none is left when this returns.

        Raises:
            TimeoutError: one would not die (it hangs in the kernel).
        """
        with _gone_is_fine():
            self.limit_cpu(None)  # what has used up its share would have to wait for the next, even to die
        if UNIFIED in self.folders:
            with _gone_is_fine():  # there is no such file before Linux 5.14
                write(self.folders[UNIFIED] / "cgroup.kill", "1")
        give_up = time.monotonic() + END_PATIENCE_S
        while left := self._processes():
            if time.monotonic() > give_up:
                raise TimeoutError(f"{len(left)} processes of {self.folders['pids']} would not die")
            with _gone_is_fine():
                write(self.folders["pids"] / "pids.max", "0")  # they can't outrun the walk
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(POLL_S)

    def remove(self) -> None:
        """Kill and remove; harmless where it is gone.

        Raises:
            OSError: a process would not die, or the kernel held on to the group.
        """
        self.kill()
        if self._events is not None:
            os.close(self._events)
            self._events = None
        give_up = time.monotonic() + END_PATIENCE_S
        for folder in self._distinct():
            while not _removed(folder, give_up):
                time.sleep(POLL_S)

    @property
    def _memory(self) -> MemoryFiles:
        return MEMORY_V2 if self.folders["memory"] == self.folders.get(UNIFIED) else MEMORY_V1

    def _distinct(self) -> list[Path]:
        return list(dict.fromkeys(self.folders.values()))

    def _processes(self) -> list[int]:
        found: set[int] = set()
        for folder in self._distinct():
            with _gone_is_fine():
                found.update(map(int, (folder / "cgroup.procs").read_bytes().split()))
        return [pid for pid in found if pid]  # 0: a process of a PID namespace that is none of ours


@contextmanager
def _gone_is_fine() -> Iterator[None]:
    """Another worker may sweep the same group: its files then vanish, or answer that their device has."""
    try:
        yield
    except OSError as wrong:
        if wrong.errno not in (errno.ENOENT, errno.ENODEV):
            raise


def _removed(folder: Path, give_up: float) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError as wrong:
        if wrong.errno != errno.EBUSY or time.monotonic() > give_up:
            raise
        return False
    return True


def _count(events: bytes, word: bytes) -> int:
    words = events.split()
    return int(words[words.index(word) + 1])
