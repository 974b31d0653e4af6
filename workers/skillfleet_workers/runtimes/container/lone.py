"""A container for one run, up before there is a request for it.

Its keeper is a thread that passes on, between the worker and the init inside (`inside/alone.py`), what both say.
"""

import contextlib
import logging
import os
import select
import socket
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..base import RuntimeUnavailableError
from ..inside.alone import LENGTH_BYTES, UP
from ..inside.config import DESCRIPTORS
from ..sandbox import INSIDE, PROGRAM
from ..warm.channel import START_PATIENCE_S, DeadInterpreterError, Lease
from ..warm.recipe import Recipe
from .attached import PIECE_BYTES, STDOUT, Attached
from .engine import engine_trouble, remove
from .hardening import Plan, Shown, options
from .images import Image
from .interpreter import SAID_BYTES, Host, config_of, shown_paths
from .passing import Passing
from .place import Place
from .portable import UNSET, portable_python

END_PATIENCE_S = 5.0
OWN_MEMORY_MB = 24
"""Of the init."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Order:
    """A request as it came over its control; the descriptors are the order's to close."""

    frame: bytes
    descriptors: Sequence[int]

    def feed(self, attached: Attached) -> None:
        """As `inside/alone.py` reads it. Raises: OSError."""
        stdin, _, _, *placed = self.descriptors
        attached.feed(self.frame)
        for one in (stdin, *placed):
            with Path(f"/proc/self/fd/{one}").open("rb") as file:
                left = os.fstat(one).st_size
                attached.feed(left.to_bytes(LENGTH_BYTES, "big"))
                while left and (piece := file.read(min(left, PIECE_BYTES))):
                    attached.feed(piece)
                    left -= len(piece)


class LoneContainer:
    def __init__(self, recipe: Recipe, image: Image, host: Host) -> None:
        """It is up afterwards. Raises: RuntimeUnavailableError, OSError."""
        self.oom_kills = 0
        self._recipe, self._image, self._host = recipe, image, host
        self._place = Place(host.scratch, host.user)
        self._output = self._place.output()
        self._container = ""
        self._attached: Attached | None = None
        self._keeper: threading.Thread | None = None
        try:
            with engine_trouble("a container cannot be started"):
                wanted = options(self._plan())
                self._container = host.client.containers.create(**wanted, stdin_open=True, auto_remove=True).id
                self._attached = Attached(host.client, self._container, stdin=True)
                host.client.api.start(self._container)
            self._wait_until_up(self._attached)
        except BaseException:
            self._remove()
            raise

    def _wait_until_up(self, attached: Attached) -> None:
        """Raises: RuntimeUnavailableError."""
        said = "it says nothing"
        if select.select([attached], [], [], START_PATIENCE_S)[0]:
            stream, piece = attached.read()
            if (stream, piece) == (STDOUT, UP):
                return
            said = (piece + attached.rest(SAID_BYTES)).decode("utf-8", "replace").strip()[-600:] or said
        raise RuntimeUnavailableError(f"no run can be started in image {self._image.name}: {said}")

    def lease(self) -> Lease:
        """Raises: DeadInterpreterError."""
        if self._attached is None or select.select([self._attached], [], [], 0)[0]:
            raise DeadInterpreterError("a container has died while it waited")
        ours, theirs = socket.socketpair()
        work = os.open(self._place.folder, os.O_PATH | os.O_DIRECTORY)
        keeping = (theirs, self._attached)
        self._keeper = threading.Thread(target=self._keep, args=keeping, name="container-run", daemon=True)
        self._keeper.start()
        return Lease(ours, work)

    def end(self) -> None:
        if self._keeper is None:
            self._remove()
            return
        remove(self._host.client, self._container)
        self._keeper.join(END_PATIENCE_S)  # its last act waits for the caller's

    def _remove(self) -> None:
        if self._attached is not None:
            self._attached.close()
        try:
            if self._container:
                remove(self._host.client, self._container)
        finally:
            self._place.remove()

    def _keep(self, control: socket.socket, attached: Attached) -> None:
        order = None
        try:
            with control:
                order = received(control)
                if order is not None and (done := self._served(order, control, attached)):
                    control.sendall(done)
                    control.recv(1)  # the caller fetches what the run has left, and then closes its end
        except (RuntimeUnavailableError, OSError) as wrong:
            log.warning("%s", wrong)
        finally:
            for descriptor in order.descriptors if order else ():
                os.close(descriptor)
            self._remove()

    def _served(self, order: Order, control: socket.socket, attached: Attached) -> bytes:
        """The last thing to tell of the run; empty where its init has died, as the end of control tells."""
        room = self._recipe.limits.disk_mb << 20
        with (
            engine_trouble("a container was lost"),
            Passing(control, order.descriptors[1:3], self._output, room) as passing,
        ):
            order.feed(attached)
            pass_on(attached, control, passing)
        self.oom_kills = passing.oom_kills
        if not passing.done:
            log.warning("the init of a container has died: %s", passing.trouble or "it says nothing")
        return passing.done

    def _plan(self) -> Plan:
        recipe, host, python = self._recipe, self._host, portable_python()
        paths = shown_paths(recipe)
        return Plan(
            image=self._image.id,
            program=(*python.command, "-m", "inside.alone", config_of(recipe, alone=True).encoded()),
            paths=paths,
            user=host.user,
            limits=recipe.limits,
            network=recipe.network,
            memory_mb=recipe.limits.memory_mb + OWN_MEMORY_MB,
            labels=host.labels,
            folder=PROGRAM,
            shown=(*self._place.way_to(paths), Shown(INSIDE, Path(PROGRAM, "inside")), *python.shown),
            environment=UNSET,
            engine_runtime=host.runtime,
            alone=True,
        )


def pass_on(attached: Attached, control: socket.socket, passing: Passing) -> None:
    """Until the end of the container."""
    watched: list[Attached | socket.socket] = [attached, control]
    while True:
        ready, _, _ = select.select(watched, [], [])
        if control in ready:
            watched.remove(control)
            with contextlib.suppress(OSError):  # it has just ended
                attached.feed(b"k")
        if attached in ready:
            stream, piece = attached.read()
            if not piece:
                return
            passing.take(stream, piece)


def received(control: socket.socket) -> Order | None:
    """None: the caller has no use for it."""
    head, descriptors, _, _ = socket.recv_fds(control, LENGTH_BYTES, DESCRIPTORS, socket.MSG_WAITALL)
    if not descriptors:
        return None
    body = control.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL)
    return Order(head + body, descriptors)
