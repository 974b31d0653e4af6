"""Namespaces inside those of the sandbox, for one run at a time: processes, mounts and IPC that no other run sees.

They are kept from run to run, since making and ending them costs as much as a run; what is in them is not.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import ctypes
import os

from .config import OUTPUT, Config

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
OWN_NAMESPACES = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC = 2, 4, 8, 4096, 16384
MNT_DETACH = 2
PLACES = ("/dev/shm", "/tmp")
SYS_CLONE = {"x86_64": 56, "aarch64": 220}
CAPABILITY_VERSION_3 = 0x20080522
FILES_PER_MB = 256
"""As many as fit where each has a page: empty ones take none of the file system's size, but the kernel's memory."""

OWN_IDS = os.getuid(), os.getgid()
"""Before a clone: in a new user namespace nobody has a number until it is mapped."""

MACHINE = os.uname().machine
libc = ctypes.CDLL(None, use_errno=True)
holding_the_interpreter = ctypes.PyDLL(None)


def fork_into(config: Config) -> int:
    """os.fork; where runs are nested, the child is process 1 of new namespaces."""
    if not config.nested:
        return os.fork()
    python = ctypes.pythonapi
    python.PyOS_BeforeFork()
    flags = OWN_NAMESPACES | _signal.SIGCHLD
    pid = int(holding_the_interpreter.syscall(SYS_CLONE[MACHINE], flags, 0, 0, 0, 0))
    if pid:
        python.PyOS_AfterFork_Parent()
        return pid
    python.PyOS_AfterFork_Child()
    return 0


def enter(config: Config) -> list[tuple[str, int]]:
    """Map ourselves, and show the processes of here. What the mounts of a run will cover, each with a way to it.

    Raises:
        OSError: the kernel refuses.
    """
    uid, gid = OWN_IDS
    for name, line in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        _write(f"/proc/self/{name}", line)
    covered = [(path, os.open(path, os.O_PATH)) for path in config.hidden]
    _mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "")
    return covered


def furnish(config: Config, covered: list[tuple[str, int]]) -> None:
    """Mount what is one run's alone. Raises OSError."""
    options = f"size={config.disk_mb}m,nr_inodes={config.disk_mb * FILES_PER_MB},mode=755"
    _mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, options)
    for place in PLACES:  # of one file system: its size bounds them together
        part = "/tmp/" + os.path.basename(place)
        os.mkdir(part)
        os.chmod(part, 0o1777)
        _mount(part, place, "", MS_BIND, "")
    for path, descriptor in covered:
        _uncover(path, descriptor)
    os.makedirs(os.path.join(config.work, OUTPUT), 0o700)


def strip() -> None:
    """Leave nothing of a run whose processes are dead. Raises OSError."""
    for place in (*PLACES, "/tmp"):  # the last to go is the file system that the others are parts of
        if libc.umount2(place.encode(), MNT_DETACH):
            raise _failure(f"cannot unmount {place}")
    if libc.unshare(CLONE_NEWIPC):
        raise _failure("cannot renew the IPC namespace")


def drop_capabilities() -> None:
    """Raises OSError."""
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    if libc.capset(header, (ctypes.c_uint32 * 6)()):
        raise _failure("cannot drop capabilities")


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    os.write(descriptor, text.encode())
    os.close(descriptor)


def _uncover(path: str, descriptor: int) -> None:
    """Mount again what lay below a mount point of ours. It stays read-only, as it was."""
    source = f"/proc/self/fd/{descriptor}"
    if os.path.isdir(source):
        os.makedirs(path, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
    _mount(source, path, "", MS_BIND | MS_REC, "")


def _mount(source: str, target: str, kind: str, flags: int, options: str) -> None:
    named = [text.encode() or None for text in (source, target, kind)]
    if libc.mount(*named, ctypes.c_ulong(flags), options.encode() or None):
        raise _failure(f"cannot mount {target}")


def _failure(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")
