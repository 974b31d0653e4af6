"""The worker's end of its resident supervisor."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .base import RuntimeUnavailableError

SUPERVISOR = Path(__file__).with_name("supervisor.py")
ANSWER_TIMEOUT_S = 10.0
ANSWER_BYTES = 16


@dataclass(frozen=True, slots=True)
class Init:
    """A process that holds one run at a time, and waits for its request on `control`."""

    pid: int
    control: socket.socket
    resident_pid: int


class Resident:
    """One supervisor process, started when first needed and again whenever it has died. Thread safe.

    `group_prefixes`: of paths; the control groups to remove should this process die without doing so.
    """

    def __init__(self, group_prefixes: Sequence[str] = ()) -> None:
        self._group_prefixes = group_prefixes
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None
        self._idle: list[Init] = []

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def take(self) -> Init:
        """An init for one run; its control is the taker's to close or to give back.

        Raises:
            RuntimeUnavailableError: no supervisor can be started, or it makes no init.
        """
        with self._lock:
            if self._process is not None and self._process.poll() is not None:
                self._discard()
            while self._idle:
                init = self._idle.pop()
                if not _speaks(init.control):
                    return init
                init.control.close()
            for _ in range(2):  # it may have died since; then nothing was started
                try:
                    return self._new_init()
                except (OSError, EOFError):
                    self._discard()
        raise RuntimeUnavailableError("the resident supervisor died or fell silent twice before a run")

    def give_back(self, init: Init) -> None:
        """For another run: the last one must be done, and all that was sent to it read."""
        with self._lock:
            if init.resident_pid == self.pid:
                self._idle.append(init)
            else:
                init.control.close()

    def discard(self) -> None:
        """Kill it; the next run starts another."""
        with self._lock:
            self._discard()

    def close(self) -> None:
        """Have it end what still runs, and itself."""
        with self._lock:
            self._hang_up()
            if self._process is not None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(timeout=ANSWER_TIMEOUT_S)
            self._discard()

    def _new_init(self) -> Init:
        requests = self._requests or self._start()
        requests.send(b"+")
        message, descriptors, _, _ = socket.recv_fds(requests, ANSWER_BYTES, 1)
        if not message or self.pid is None:
            raise EOFError
        return Init(int(message), socket.socket(fileno=descriptors[0]), self.pid)

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        ours.settimeout(ANSWER_TIMEOUT_S)
        with theirs:
            try:
                # No environment: what a script can read of its supervisor must hold none of our secrets.
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", os.fspath(SUPERVISOR), *self._group_prefixes],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    env={},
                    cwd="/",
                    start_new_session=True,
                )
            except OSError as wrong:
                ours.close()
                raise RuntimeUnavailableError(f"cannot start the supervisor: {wrong}") from wrong
        self._requests = ours
        return ours

    def _hang_up(self) -> None:
        for init in self._idle:
            init.control.close()
        self._idle.clear()
        if self._requests is not None:
            self._requests.close()
            self._requests = None

    def _discard(self) -> None:
        self._hang_up()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _speaks(control: socket.socket) -> bool:
    """Before its request only `lost` or an end of file can come from an init."""
    control.setblocking(False)
    try:
        control.recv(16, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    return True
