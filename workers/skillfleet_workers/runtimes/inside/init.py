"""The first process of every run: it holds the run, tells how it goes, and leaves nothing of it alive.

It makes ready and holds one run after the other, each when the worker asks for it on the channel. It says on the
run's control what `runtimes/supervisor.py` documents, but for `started` and `failed`, which the script's own process
says.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _socket
import os
import select
import sys

from . import script
from .config import Config
from .nest import drop_capabilities, enter, furnish, libc, strip

TYPE_CHECKING = False
if TYPE_CHECKING:  # the true one is in a module that costs much to load
    from typing import Protocol

    class Control(Protocol):
        """Where a run's lines are said: a socket, or what stands in for one."""

        def sendall(self, line: bytes, /) -> None: ...


PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
KILLED = _signal.SIGKILL


def be_init(config: Config, channel: int) -> script.Request:
    """Returns in the scripts' processes alone, with what each is to run."""
    try:
        return _be_init(config, channel)
    except BaseException as wrong:  # noqa: BLE001  nobody else would say it
        os.write(channel, f"failed: {wrong}".encode())
        os._exit(1)


def asked(channel: int) -> bytes:
    """Empty when the worker is gone, also where it leaves something unread."""
    try:
        return os.read(channel, 1)
    except OSError:
        return b""


def _be_init(config: Config, channel: int) -> script.Request:
    _signal.signal(_signal.SIGINT, _signal.SIG_IGN)  # from a script, where Landlock doesn't keep it in
    covered = enter(config) if config.nested else []
    if not config.nested:
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # Else a script could read this memory, which is the template's.
    libc.prctl(script.PR_SET_DUMPABLE, 0, 0, 0, 0)
    while True:
        if config.nested:
            furnish(config, covered)
        else:
            script.tidy_up(config)
        if request := _one_run(config, channel):
            return request
        if config.nested:
            strip()
        if not asked(channel):
            os._exit(0)


def _one_run(config: Config, channel: int) -> script.Request | None:
    """To its end; the request in the process that is to run it."""
    control, theirs = _socket.socketpair()
    begun, telling = os.pipe()
    child = os.fork()
    if not child:
        os.close(begun)
        theirs.close()
        if config.nested:
            drop_capabilities()
        else:  # this is what the kernel does when process 1 of a namespace dies
            libc.prctl(PR_SET_PDEATHSIG, KILLED, 0, 0, 0)
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)
        script.prepare(config)
        return script.read_request(control, config)  # closes `telling`, among all else
    os.close(telling)
    _say_ready(config, channel, theirs)
    watched = os.pidfd_open(child)
    _hold(config, control, child, watched, begun)
    control.close()
    os.close(watched)
    os.close(begun)
    return None


def _say_ready(config: Config, channel: int, theirs: _socket.socket) -> None:
    work = os.open(config.work, os.O_PATH | os.O_DIRECTORY)
    passed = theirs.fileno().to_bytes(4, sys.byteorder) + work.to_bytes(4, sys.byteorder)
    up = _socket.socket(fileno=os.dup(channel))
    up.sendmsg([b"ready"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, passed)])
    up.close()
    theirs.close()
    os.close(work)


def _hold(config: Config, control: _socket.socket, child: int, watched: int, begun: int) -> None:
    _signal.signal(_signal.SIGCHLD, lambda *_: bury_orphans(child))
    poller = select.poll()
    poller.register(watched, select.POLLIN)
    poller.register(begun, select.POLLHUP)
    while True:
        ready = [descriptor for descriptor, _ in poller.poll()]
        if watched in ready:
            return tell_end(config, control, child, False)
        if begun in ready:
            poller.unregister(begun)  # until it has its request, the child reads control, and ends with it
            poller.register(control, select.POLLIN)
        elif control.fileno() in ready:
            return tell_end(config, control, child, True)


def bury_orphans(child: int) -> None:
    """Of a script that lives: unburied they would fill its limit of processes."""
    try:
        while (dead := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) and dead.si_pid != child:
            os.waitpid(dead.si_pid, 0)
    except ChildProcessError:
        pass


def tell_end(config: Config, control: Control, child: int, ordered: bool) -> None:
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    if ordered:
        os.kill(child, KILLED)
    _, status, used = os.wait4(child, 0)
    cpu_us = int((used.ru_utime + used.ru_stime) * 1e6)
    _say(control, f"ended {status} {cpu_us} {used.ru_maxrss} {int(ordered)}")
    try:
        others = _kill_nested() if config.nested else _kill_below()
    except (ChildProcessError, ProcessLookupError):
        others = 0
    _say(control, f"done {others}")


def _kill_nested() -> int:
    """Process 1 kills all others at once: not even one that keeps forking gets away."""
    os.waitpid(-1, os.WNOHANG)  # where no child is left, this says so at once
    ending = {pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _is_ending(pid)}
    os.kill(-1, KILLED)
    others = 0
    try:
        while True:
            pid, status = os.waitpid(-1, 0)
            others += status & 0x7F == KILLED and pid not in ending
    except ChildProcessError:
        return others


def _is_ending(pid: int) -> bool:
    """Killed by its own script, or dead; it needs us no more."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            told = dict(line.split(b":\t", 1) for line in file.read().rstrip(b"\n").split(b"\n"))
    except OSError:
        return True
    pending = int(told[b"SigPnd"], 16) | int(told[b"ShdPnd"], 16)
    return told[b"State"][:1] in b"ZX" or bool(pending >> (KILLED - 1) & 1)


def _kill_below() -> int:
    others = 0
    ending: set[int] | None = None
    while True:
        with open("/proc/thread-self/children") as listing:
            below = [int(pid) for pid in listing.read().split()]
        if not below:
            return others
        if ending is None:  # later looks are a race with what forks
            ending = {pid for pid in below if _is_ending(pid)}
        for pid in below:
            os.kill(pid, KILLED)
        others += sum(os.waitpid(pid, 0)[1] & 0x7F == KILLED and pid not in ending for pid in below)


def _say(control: Control, line: str) -> None:
    try:
        control.sendall(line.encode() + b"\n")
    except OSError:
        pass  # the worker is gone
