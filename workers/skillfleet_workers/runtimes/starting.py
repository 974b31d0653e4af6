"""How a script is started: bare, or behind locks that close between fork and exec.

A part of `supervisor.py`, so of the standard library alone; the worker says with it what is to be locked.
"""

from __future__ import annotations

import ctypes
import marshal
import os
import resource
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # the true one is in a module that costs much to load
    from typing import Any
if TYPE_CHECKING or __package__:
    from .inside import landlock, seccomp
else:  # in the supervisor, which is no part of a package
    from inside import landlock, seccomp

LOCKED = b"skillfleet:locked"
"""In the place of a program: what follows are its locks, encoded, and then the program itself."""

PR_CAPBSET_DROP = 24
CAPABILITIES = range(64)
KEPT_BY_ROOT = (1, 2)
"""CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH: what it may read can lie below somebody else's closed folder."""

OWN_SESSION: dict[str, Any] = {"setsid": True} if sys.platform == "linux" else {"setpgroup": 0}
libc = ctypes.CDLL(None)


class Locks:
    """`readable` and `writable`: paths for Landlock, which is left out where there are none. `filter`: a seccomp
    program, empty: none. `limits`: a kind of `resource` and the most of it."""

    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    network: bool = False
    filter: bytes = b""
    limits: tuple[tuple[int, int], ...] = ()

    def __init__(self, **fields: object) -> None:
        vars(self).update(fields)

    def encoded(self) -> str:
        return marshal.dumps(vars(self)).hex()


def start(streams: list[int], folder: bytes, count: bytes, _: bytes, *fields: bytes) -> int:
    """The script's process, in a session of its own; nothing is to be placed for it. Raises OSError where it could
    not be started."""
    arguments = list(fields[: int(count)])
    variables = {name: value for name, _, value in (field.partition(b"=") for field in fields[int(count) :])}
    os.chdir(folder)  # an init holds one run at a time: its working directory is the script's
    if arguments[0] == LOCKED:
        return _locked(streams, arguments[1], arguments[2:], variables)
    return os.posix_spawn(  # which copies no memory: a fork costs more than all else here
        arguments[0],
        arguments,
        variables,
        file_actions=[(os.POSIX_SPAWN_DUP2, descriptor, wanted) for wanted, descriptor in enumerate(streams)],
        setsigdef=[signal.SIGPIPE],
        **OWN_SESSION,
    )


def _locked(streams: list[int], encoded: bytes, arguments: list[bytes], variables: dict[bytes, bytes]) -> int:
    """Raises OSError where it could not be locked in or started."""
    locks = Locks(**marshal.loads(bytes.fromhex(encoded.decode())))
    # All that can be done before the fork: in there, the first write to every page costs a copy of it.
    ruleset = None
    if locks.readable or locks.writable:
        ruleset = landlock.prepare(locks.readable, locks.writable, network=locks.network)
    if os.geteuid() == 0:
        _bound_programs_of_root()
    told, telling = os.pipe()
    child = os.fork()
    if not child:
        _become(telling, streams, locks, ruleset, arguments, variables)
    for descriptor in (telling, *([] if ruleset is None else [ruleset])):
        os.close(descriptor)
    wrong = os.read(told, 4096)  # the pipe's end is the exec
    os.close(told)
    if wrong:
        os.waitpid(child, 0)
        code, _, path = wrong.partition(b" ")
        raise OSError(int(code), os.strerror(int(code)), path)
    return child


def _bound_programs_of_root() -> None:
    """This process keeps its capabilities; what it starts has few: with CAP_PERFMON, say, the kernel shows it the
    memory and environment of every process without asking Landlock."""
    for number in CAPABILITIES:
        if number not in KEPT_BY_ROOT:
            libc.prctl(PR_CAPBSET_DROP, *map(ctypes.c_ulong, (number, 0, 0, 0)))


def _become(
    telling: int,
    streams: list[int],
    locks: Locks,
    ruleset: int | None,
    arguments: list[bytes],
    variables: dict[bytes, bytes],
) -> None:
    path = arguments[0]
    try:
        os.setsid()
        for wanted, descriptor in enumerate(streams):
            os.dup2(descriptor, wanted)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        path = b"its locks"
        _limit(locks)
        if ruleset is not None:
            landlock.enforce(ruleset)
        if locks.filter:
            seccomp.install(locks.filter)
        path = arguments[0]
        os.execve(path, arguments, variables)
    except BaseException as wrong:  # noqa: BLE001  nobody else would say it
        os.write(telling, b"%d %s" % (getattr(wrong, "errno", None) or 0, path))
    finally:
        os._exit(127)


def _limit(locks: Locks) -> None:
    for kind, wanted in locks.limits:
        _, most = resource.getrlimit(kind)
        hard = wanted + int(kind == resource.RLIMIT_CPU)  # before SIGKILL comes SIGXCPU, which says why
        hard = hard if most == resource.RLIM_INFINITY else min(hard, most)
        resource.setrlimit(kind, (min(wanted, hard), hard))
