"""What a plain process is locked in with, where this host can."""

import os
import resource
import stat
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from .base import RunRequest
from .inside import seccomp
from .isolation import KernelLocks
from .sandbox import FACTS, NETWORK_FACTS, interpreter_paths
from .starting import Locks

SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store",
    "/proc", "/sys/devices/system", "/sys/fs/cgroup",
)  # fmt: skip
"""Of /proc, Landlock itself closes what tells of processes outside: their memory, environment and files."""

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/shm")
INTERPRETERS = ("python3*", "perl", "ruby*", "node*")
"""In /etc: what they find there and can't read, they fail over."""

ETC = Path("/etc")
ALL_PROCESSES = 0xEFFFFFFC
"""The inode of the namespace that numbers every process of a machine."""


def locks_for(request: RunRequest, work: Path, kernel: KernelLocks) -> Locks:
    """`work` is the run's own folder, the only one that it may change."""
    network = request.network == "host"
    own = (request.skill_root, *interpreter_paths(request.interpreter), *request.programs)
    paths = own if kernel.landlock_abi else ()
    return Locks(
        readable=(*SYSTEM, *_facts(network), *map(str, paths)) if paths else (),
        writable=(*DEVICES, str(work)) if paths else (),
        network=network,
        filter=_program(network) if kernel.seccomp else b"",
        limits=tuple(_limits(request)),
    )


@cache
def _program(network: bool) -> bytes:
    return seccomp.program(os.uname().machine, network=network, unix_only=not network)


@cache
def _facts(network: bool) -> tuple[str, ...]:
    """All of /etc for an ordinary user. Root, who may read everybody's secrets, gets what a sandbox shows of it."""
    if os.geteuid() != 0:
        return (str(ETC),)
    named = [ETC / name for name in FACTS + (NETWORK_FACTS if network else ())]
    found = [path for path in (*named, *(it for name in INTERPRETERS for it in ETC.glob(name))) if path.exists()]
    return tuple(str(part) for path in found for part in _open_parts(path))


def _open_parts(path: Path) -> Iterator[Path]:
    """What anybody may read: the folder, or where some of it is closed, the rest of it."""
    parts = list(path.iterdir()) if path.is_dir() else []
    if all(map(_is_open, parts)):
        yield path
    else:
        yield from filter(_is_open, parts)


def _is_open(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & stat.S_IROTH)
    except OSError:
        return False


def _limits(request: RunRequest) -> Iterator[tuple[int, int]]:
    limits = request.limits
    # Not the address space: node reserves more of it than it ever uses.
    yield resource.RLIMIT_DATA, limits.memory_mb << 20
    yield resource.RLIMIT_FSIZE, limits.disk_mb << 20
    if limits.cpu_seconds:
        yield resource.RLIMIT_CPU, limits.cpu_seconds
    if (own := _own_threads()) is not None:
        yield resource.RLIMIT_NPROC, own + limits.pids


def _own_threads() -> int | None:
    """Of this user, whom the kernel counts by; None for root, whom it does not limit, and where not all are seen."""
    user = os.geteuid()
    if user == 0 or Path("/proc/self/ns/pid").stat().st_ino != ALL_PROCESSES:
        return None
    threads = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208
        try:
            found = os.stat(f"/proc/{pid}/task")  # noqa: PTH116  for hundreds of them, before every run
        except OSError:
            continue
        if found.st_uid == user:
            threads += found.st_nlink - 2
    return threads
