"""What is said between the worker and the program inside, and what every kind of warm interpreter is."""

import contextlib
import logging
import os
import select
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from ..base import RuntimeUnavailableError
from ..resident import ANSWER_TIMEOUT_S
from .recipe import Recipe

START_PATIENCE_S = 30.0
"""A preload may take seconds."""

MESSAGE_BYTES = 65_536
log = logging.getLogger(__name__)


class DeadInterpreterError(Exception):
    """It gives no more spares. What it says last is the message."""


class NotUpError(RuntimeUnavailableError):
    """What is started never said that it is ready."""


class ThreadedPreloadError(Exception):
    """An import started threads: no fork of it would have them."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A spare that waits for its request on `control`. `work`: its work folder, as a descriptor. `hasten` lifts
    what would slow down the end of its run: whoever has to kill it is limited with it."""

    control: socket.socket
    work: int
    hasten: Callable[[], None] = lambda: None

    def close(self) -> None:
        self.control.close()
        os.close(self.work)


class Warm(Protocol):
    """One run at a time. Not thread safe: whoever holds it has it alone."""

    recipe: Recipe
    runs: int
    kill_grace_s: float
    """How long its init may take to kill a run, before all of it is to be ended."""

    def start(self) -> None:
        """Ready for `lease` afterwards.

        Raises:
            RuntimeUnavailableError: it does not come up, for the reason that is told.
            ThreadedPreloadError: start another one whose recipe imports nothing ahead.
        """
        ...

    def ask(self) -> None:
        """Have the next spare made: what takes it need not wait for it."""
        ...

    def lease(self) -> Lease:
        """The spare that was asked for last. Raises: DeadInterpreterError."""
        ...

    def oom_kills(self) -> int:
        """How many of its processes were killed for memory, ever."""
        ...

    def memory_bytes(self) -> int: ...

    def end(self) -> None:
        """Nothing of it lives afterwards."""
        ...


class Channel:
    """The worker's end of the socket to a program inside. Owns `connection`."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def close(self) -> None:
        self._connection.close()

    def wait_until_up(self) -> None:
        """Raises: as `Warm.start`."""
        said = b""
        give_up = time.monotonic() + START_PATIENCE_S
        while time.monotonic() < give_up:
            if not select.select([self._connection], [], [], give_up - time.monotonic())[0]:
                break
            piece = self._connection.recv(MESSAGE_BYTES)
            if piece == b"up":
                return
            if piece.startswith(b"threads "):
                raise ThreadedPreloadError("an import starts threads")
            said += piece
            if not piece:
                break
        reason = said.decode("utf-8", "replace").strip() or "it says nothing"
        raise NotUpError(f"a sandbox does not come up: {reason[-600:]}")

    def ask(self) -> None:
        with contextlib.suppress(OSError):  # dead, as the lease will tell
            self._connection.send(b"+")

    def lease(self) -> Lease:
        """Raises: DeadInterpreterError."""
        self._connection.settimeout(ANSWER_TIMEOUT_S)
        while True:
            try:
                said, descriptors, _, _ = socket.recv_fds(self._connection, MESSAGE_BYTES, 2)
            except OSError as wrong:
                raise DeadInterpreterError(f"a warm interpreter does not answer: {wrong}") from wrong
            if said == b"ready":
                lease = Lease(socket.socket(fileno=descriptors[0]), descriptors[1])
                if _silent(lease.control):
                    return lease
                lease.close()
                raise DeadInterpreterError("a spare has died while it waited")
            if not said or said.startswith(b"failed: "):
                raise DeadInterpreterError(said.decode("utf-8", "replace") or "a warm interpreter has died")
            log.info("%s", said.decode("utf-8", "replace").strip())


def _silent(control: socket.socket) -> bool:
    """A spare that lives says nothing before its request."""
    try:
        control.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
