"""The resident: starts every script of one worker and leaves nothing of any of them behind.

A program of its own, run as `python -I -S supervisor.py` with a unix socket as standard input. For every byte that
the worker sends there it forks an init and answers with the init's process id; with it comes a descriptor, the
init's control. An init holds one run at a time, for as long as the worker keeps control open: it waits there for a
request (`read_request`) and starts the script (`starting.py`). Then the worker reads lines:

    failed MESSAGE                          the script could not be started
    started PID                             exec has happened
    ended RAW_STATUS CPU_US RSS_KB KILLED   of the script itself; KILLED is 1 where the init did it
    done LEFTOVERS                          nothing of the run lives; so many other processes had to be killed
    lost                                    the init died, and the resident has cleaned up after it

Any byte on control between request and `done`, or its end of file (the worker is gone), kills the run.
Its arguments are path prefixes of the worker's control groups, which it removes when the worker is gone.

All this is copied once per run, so few modules are imported: `_socket` for `socket`, `open` for pathlib.
"""

import _socket
import ctypes
import gc
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Container
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import starting
else:  # a program of its own is no part of a package
    sys.path.append(os.path.dirname(__file__))  # noqa: PTH120
    import starting

ANSWER_BYTES = 16
THREE_DESCRIPTORS = 12
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
NO_CORE = 1
"""In bytes. 0 would not keep a crash from starting the program that a host may pipe core dumps into."""

LAST_GRACE_S = 5.0
"""How long inits may take to clean up once the worker is gone, before the resident does it for them."""

LINUX = sys.platform == "linux"
libc = ctypes.CDLL(None)

Ended = tuple[int, int, resource.struct_rusage]
"""A process id, its raw wait status, what it used."""


def prctl(option: int, value: int) -> None:
    if LINUX:
        libc.prctl(option, ctypes.c_ulong(value), *[ctypes.c_ulong(0)] * 3)


def watch(poller: select.poll, pid: int) -> int | None:
    """A descriptor that wakes the poller when `pid` ends; None where there is none and a clock must do."""
    try:
        descriptor = os.pidfd_open(pid) if LINUX else None
    except OSError:
        return None
    if descriptor is not None:
        poller.register(descriptor, select.POLLIN)
    return descriptor


def wait_ms(watched: int | None) -> int:
    return 20 if watched is None else 1000


def children() -> list[int]:
    """Direct children, orphans that came to this subreaper included; none where there is no such /proc."""
    try:
        with open("/proc/thread-self/children", "rb") as listing:  # noqa: PTH123
            return [int(pid) for pid in listing.read().split()]
    except FileNotFoundError:
        return []


def reap() -> list[Ended]:
    """The children that have ended by now."""
    ended = []
    with suppress(ChildProcessError):
        while (one := os.wait4(-1, os.WNOHANG))[0]:
            ended.append(one)
    return ended


def kill_children(spare: Container[int] = ()) -> list[Ended]:
    """Kill children, and the orphans that thereby become children, until none is left."""
    ended = []
    while found := [pid for pid in children() if pid not in spare]:
        for pid in found:
            os.kill(pid, signal.SIGKILL)
        ended += [os.wait4(pid, 0) for pid in found]
    return ended


def remove_groups(folder: str, prefix: str) -> None:
    """The control groups that the worker has made and can't remove any more; all that ran in them is dead."""
    for name in os.listdir(folder):  # noqa: PTH208
        if name.startswith(prefix):
            with suppress(OSError):
                os.rmdir(f"{folder}/{name}")  # noqa: PTH106


def say(control: _socket.socket, line: str) -> bool:
    """False when the worker is gone."""
    try:
        control.sendall(line.encode("utf-8", "replace") + b"\n")
    except OSError:
        return False
    return True


def read_request(control: _socket.socket) -> tuple[list[int], list[bytes]]:
    """Eight bytes of length, with which come stdin, stdout and stderr; then fields, each ended by a NUL:
    folder, count of arguments, 0, arguments, NAME=value...

    Raises:
        EOFError: the worker is gone, or this is its late order to kill the run before.
    """
    head, passed, _, _ = control.recvmsg(8, _socket.CMSG_SPACE(THREE_DESCRIPTORS), _socket.MSG_WAITALL)
    if not passed:
        raise EOFError
    length = int.from_bytes(head, "big")
    body = control.recv(length, _socket.MSG_WAITALL)
    if len(body) < length:
        raise EOFError
    streams = memoryview(passed[0][2][:THREE_DESCRIPTORS]).cast("i").tolist()
    for descriptor in streams:
        os.set_inheritable(descriptor, False)
    return streams, body.split(b"\0")[:-1]


def be_init(control: _socket.socket) -> None:
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    prctl(PR_SET_NO_NEW_PRIVS, 1)  # what has become root by a setuid bit could not be killed
    with suppress(EOFError):
        while serve_run(control):
            os.chdir("/")


def serve_run(control: _socket.socket) -> bool:
    """One request from its arrival until nothing of it lives; False when it was the last."""
    streams, fields = read_request(control)
    try:
        script = starting.start(streams, *fields)
    except OSError as wrong:
        return say(control, f"failed {wrong.strerror}: {os.fsdecode(wrong.filename or b'')}\ndone 0")
    finally:
        for descriptor in streams:
            os.close(descriptor)
    say(control, f"started {script}")
    return hold_run(control, script)


def hold_run(control: _socket.socket, script: int) -> bool:
    """Wait for the script or for the order to kill it; leave no process of it; False when this was the last."""
    poller = select.poll()
    watched = watch(poller, script)
    poller.register(control, select.POLLIN)
    ended: list[Ended] = []
    ordered = False
    while not ended and not ordered:
        ready = [descriptor for descriptor, _ in poller.poll(wait_ms(watched))]
        ended = [one for one in reap() if one[0] == script]
        ordered = control.fileno() in ready
    if watched is not None:
        os.close(watched)
    if not ended or not LINUX:
        with suppress(ProcessLookupError, PermissionError):  # the whole group at once: it can't outrun the walk
            os.killpg(script, signal.SIGKILL)
    return clean_up(control, script, ended) and not ordered


def clean_up(control: _socket.socket, script: int, ended: list[Ended]) -> bool:
    killed = int(not ended)
    others = []
    if killed:
        others = kill_children()
        ended = [one for one in others if one[0] == script] or [os.wait4(script, 0)]
    _, status, used = ended[0]
    cpu_us = int((used.ru_utime + used.ru_stime) * 1e6)
    say(control, f"ended {status} {cpu_us} {used.ru_maxrss // (1 if LINUX else 1024)} {killed}")
    others += kill_children()
    leftovers = [pid for pid, status, _ in others if pid != script and status & 0x7F == signal.SIGKILL]
    return say(control, f"done {len(leftovers)}")


class Resident:
    def __init__(self) -> None:
        self.requests = _socket.socket(fileno=0)
        self.poller = select.poll()
        self.poller.register(0, select.POLLIN)
        self.tick_ms = wait_ms(0)
        self.inits: dict[int, tuple[_socket.socket, int | None]] = {}
        """Process id to its end of control and its watch. As control is held here too, the worker reads no
        end of file there before nothing of the run lives."""

    def serve(self) -> None:
        """Until the worker closes its end or dies."""
        while True:
            while not self.asked():
                self.bury()
            try:
                wanted = self.requests.recv(64)
            except ConnectionResetError:  # closed with an answer unread
                return
            if not wanted:
                return
            for _ in wanted:
                self.make_init()

    def finish(self) -> None:
        self.poller.unregister(0)
        give_up = time.monotonic() + LAST_GRACE_S
        while self.inits and time.monotonic() < give_up:
            self.poller.poll(20)
            self.bury()
        kill_children()
        for prefix in sys.argv[1:]:
            remove_groups(*prefix.rsplit("/", 1))

    def asked(self) -> bool:
        return any(descriptor == 0 for descriptor, _ in self.poller.poll(self.tick_ms))

    def make_init(self) -> None:
        control, theirs = _socket.socketpair()
        init = os.fork()
        if not init:
            theirs.close()
            self.forget()
            be_init(control)
            os._exit(0)
        watched = watch(self.poller, init)
        self.tick_ms = min(self.tick_ms, wait_ms(watched))
        self.inits[init] = control, watched
        passed = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, theirs.fileno().to_bytes(4, sys.byteorder))]
        with suppress(OSError):  # the worker is gone, as the next read says
            self.requests.sendmsg([str(init).rjust(ANSWER_BYTES).encode()], passed)
        theirs.close()

    def forget(self) -> None:
        """In an init: the resident's ends left open would hide the death of worker, resident or other inits."""
        os.dup2(1, 0)
        for control, watched in self.inits.values():
            control.close()
            if watched is not None:
                os.close(watched)

    def bury(self) -> None:
        """Take leave of the inits that have ended, and kill what they left if it was not of their own accord."""
        for pid, status, _ in reap():
            if pid not in self.inits:
                continue
            control, watched = self.inits.pop(pid)
            if status:
                kill_children(spare=self.inits)
                say(control, "lost")
            control.close()
            if watched is not None:
                self.poller.unregister(watched)
                os.close(watched)


def main() -> None:
    # Whatever the worker ignores or blocks, a script starts with a clean slate.
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGPIPE}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    resource.setrlimit(resource.RLIMIT_CORE, (NO_CORE, NO_CORE))
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    gc.collect()
    gc.disable()
    gc.freeze()
    resident = Resident()
    resident.serve()
    resident.finish()


if __name__ == "__main__":
    main()
