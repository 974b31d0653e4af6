"""Which files, sockets and processes a locked-in process can reach: a Landlock domain around itself.

What Landlock leaves open, and namespaces or seccomp must close: UDP, MPTCP, `sendto(MSG_FASTOPEN)`, unix sockets
that have a path, chmod, chown, stat and whatever descriptor is open already.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:  # the true one is in a module that costs much to load
    from collections.abc import Sequence

NEWEST_ABI = 6
"""The last one that brought a right which this file handles."""

# The same numbers on every architecture.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_CREATE_RULESET_VERSION = 1
_RULE_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_BIND_TCP, _CONNECT_TCP = 1, 2
_SCOPE_ABSTRACT_UNIX_SOCKET, _SCOPE_SIGNAL = 1, 2

_READING = _EXECUTE | _READ_FILE | _READ_DIR
_DEVICE_NODES = _MAKE_CHAR | _MAKE_BLOCK  # never given: whoever may make one needs no path to a disk
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def abi() -> int:
    """The rights that both the kernel and this file know; 0 where the kernel has no Landlock or it is off."""
    version: int = _libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _CREATE_RULESET_VERSION)
    return min(max(version, 0), NEWEST_ABI)


def restrict(readable: Sequence[str], writable: Sequence[str], *, network: bool) -> int:
    """Confine this thread and all that it starts to these paths, for good: `prepare` and `enforce` in one.

    Returns the ABI that holds now; 0: the kernel has none and nothing was restricted.
    """
    known = abi()
    if known:
        ruleset = prepare(readable, writable, network=network)
        try:
            enforce(ruleset)
        finally:
            os.close(ruleset)
    return known


def prepare(readable: Sequence[str], writable: Sequence[str], *, network: bool) -> int:
    """A ruleset's descriptor (close-on-exec). Paths that this user can't reach are left out; links are followed.

    `readable` may be read and executed, `writable` besides changed; no device node can be made. Signals and abstract
    unix sockets end at the domain (ABI 6). Without `network`, TCP can neither bind nor connect (ABI 4), not even to
    loopback.

    Raises:
        OSError: the kernel has no Landlock, or a path can't be opened.
    """
    known = abi()
    handled = _rights(known)
    tcp = 0 if network or known < 4 else _BIND_TCP | _CONNECT_TCP
    scoped = 0 if known < 6 else _SCOPE_ABSTRACT_UNIX_SOCKET | _SCOPE_SIGNAL
    # Kernels that know less of the struct take it as long as the rest is zero.
    attributes = struct.pack("=QQQ", handled, tcp, scoped)
    ruleset = _call(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    try:
        for path in readable:
            _allow(ruleset, path, _READING)
        for path in writable:
            _allow(ruleset, path, handled & ~_DEVICE_NODES)
    except BaseException:
        os.close(ruleset)
        raise
    return ruleset


def enforce(ruleset: int) -> None:
    """Lock this thread, and all that it starts from now on, into the ruleset; other threads stay free."""
    if _libc.prctl(_PR_SET_NO_NEW_PRIVS, *map(ctypes.c_ulong, (1, 0, 0, 0))):
        _fail()
    _call(_RESTRICT_SELF, ruleset, 0)


def _rights(known: int) -> int:
    """Every right to files of an ABI, as a mask."""
    return (1 << (16 if known >= 5 else min(known, 3) + 12)) - 1


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    try:
        if not stat.S_ISDIR(os.fstat(opened).st_mode):
            rights &= _OF_FILES
        _call(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, struct.pack("=Qi", rights, opened), 0)
    finally:
        os.close(opened)


def _call(number: int, *arguments: object) -> int:
    result: int = _libc.syscall(number, *arguments)
    if result < 0:
        _fail()
    return result


def _fail() -> None:
    code = ctypes.get_errno()
    raise OSError(code, os.strerror(code))
