"""Where nothing can be kept warm, every run is a container by itself.

Its keeper is a thread that takes requests and tells how they go as the init of a sandboxed run does.
"""

import contextlib
import logging
import os
import select
import signal
import socket
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from docker.errors import APIError

from ..base import RuntimeUnavailableError
from ..capture import KILL_GRACE_S
from ..inside.config import OUTPUT, WORK
from ..warm.channel import Lease
from ..warm.recipe import Recipe
from .attached import STDOUT, Attached
from .engine import engine_trouble, innermost, remove
from .hardening import Plan, Shown, options
from .images import Image
from .interpreter import Host, shown_paths
from .place import Place

DESCRIPTORS = 4
END_PATIENCE_S = 5.0
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Order:
    """A request as it came over its control; the descriptors are the order's to close."""

    folder: str
    arguments: Sequence[str]
    environment: dict[str, str]
    descriptors: Sequence[int]

    @property
    def source(self) -> int | None:
        return self.descriptors[3] if len(self.descriptors) > 3 else None


class PlainContainer:
    """Makes a container for every lease."""

    kill_grace_s = KILL_GRACE_S

    def __init__(self, recipe: Recipe, image: Image, host: Host) -> None:
        self.recipe = recipe
        self.runs = 0
        self._image, self._host = image, host
        self._oom_kills = 0
        self._keeper: threading.Thread | None = None
        self._container: str | None = None

    def start(self, *, preload: bool = True) -> None:
        """Nothing is started ahead."""

    def ask(self) -> None:
        """As `start`."""

    def lease(self) -> Lease:
        self.runs += 1
        ours, theirs = socket.socketpair()
        place = Place(self._host.scratch, self._host.user)
        work = os.open(place.output().parent, os.O_PATH | os.O_DIRECTORY)
        self._keeper = threading.Thread(target=self._keep, args=(theirs, place), name="container-run", daemon=True)
        self._keeper.start()
        return Lease(ours, work)

    def oom_kills(self) -> int:
        return self._oom_kills

    def memory_bytes(self) -> int:
        return 0

    def end(self) -> None:
        if self._container is not None:
            remove(self._host.client, self._container)
        if self._keeper is not None:
            self._keeper.join(END_PATIENCE_S)  # its last act waits for the caller's
            self._keeper = None

    def _keep(self, control: socket.socket, place: Place) -> None:
        order = None
        try:
            with control, contextlib.closing(control):
                order = received(control)
                if order is not None:
                    self._serve(order, control, place)
                    control.recv(1)  # the caller fetches what the run has left, and then closes its end
        except (RuntimeUnavailableError, OSError) as wrong:
            log.warning("%s", wrong)
        finally:
            for descriptor in order.descriptors if order else ():
                os.close(descriptor)
            place.remove()

    def _serve(self, order: Order, control: socket.socket, place: Place) -> None:
        client = self._host.client
        stdin = Path(f"/proc/self/fd/{order.descriptors[0]}").read_bytes()
        wanted = options(self._plan(order, place))
        with engine_trouble("a container cannot be made"):
            self._container = client.containers.create(**wanted, stdin_open=bool(stdin)).id
        try:
            with engine_trouble("a container was lost"):
                ending = self._run(self._container, stdin, order, control)
        finally:
            remove(client, self._container)
            self._container = None
        control.sendall(f"{ending}\ndone 0\n".encode())

    def _run(self, container: str, stdin: bytes, order: Order, control: socket.socket) -> str:
        """The line that tells how it ended."""
        api = self._host.client.api
        with contextlib.closing(Attached(self._host.client, container, stdin=bool(stdin))) as attached:
            try:
                api.start(container)
            except APIError as refused:
                return f"failed {innermost(refused)}"
            control.sendall(b"started 0\n")
            feeder = threading.Thread(target=_feed, args=(attached, stdin), daemon=True)
            feeder.start()
            killed = self._pumped(container, attached, order, control)
            feeder.join()
        code = api.wait(container)["StatusCode"]
        self._oom_kills += bool(api.inspect_container(container)["State"].get("OOMKilled"))
        return f"ended {raw_status(code)} 0 0 {int(killed)}"

    def _pumped(self, container: str, attached: Attached, order: Order, control: socket.socket) -> bool:
        """Pass on what it says until its end; whether we have brought that about."""
        watched: list[Attached | socket.socket] = [attached, control]
        while True:
            ready, _, _ = select.select(watched, [], [])
            if control in ready:
                watched.remove(control)
                with contextlib.suppress(APIError):  # it has just ended
                    self._host.client.api.kill(container)
            if attached in ready:
                stream, piece = attached.read()
                if not piece:
                    return control not in watched
                _written(order.descriptors[1 if stream == STDOUT else 2], piece)

    def _plan(self, order: Order, place: Place) -> Plan:
        recipe, host = self.recipe, self._host
        paths = shown_paths(recipe)
        shown = [*place.way_to(paths), Shown(place.folder / OUTPUT, Path(WORK, OUTPUT), writable=True)]
        if order.source is not None:
            source = Path(f"/proc/self/fd/{order.source}").read_bytes()
            shown.append(Shown(place.file("source", source), Path(order.arguments[1])))
        return Plan(
            image=self._image.id,
            program=tuple(order.arguments),
            paths=paths,
            user=host.user,
            limits=recipe.limits,
            network=recipe.network,
            memory_mb=recipe.limits.memory_mb,
            labels=host.labels,
            folder=order.folder,
            shown=tuple(shown),
            environment=order.environment,
            engine_runtime=host.runtime,
            own_work=True,
        )


def received(control: socket.socket) -> Order | None:
    """None: the caller has no use for it."""
    head, descriptors, _, _ = socket.recv_fds(control, 8, DESCRIPTORS, socket.MSG_WAITALL)
    if not descriptors:
        return None
    length = int.from_bytes(head, "big")
    fields = [os.fsdecode(one) for one in control.recv(length, socket.MSG_WAITALL).split(b"\0")[:-1]]
    count = int(fields[1])
    variables = dict(one.split("=", 1) for one in fields[2 + count :])
    return Order(fields[0], fields[2 : 2 + count], variables, descriptors)


def raw_status(code: int) -> int:
    """As wait(2) has it. The engine makes 128 + N of signal N, as a script may of its own accord."""
    number = code - 128
    return number if number in set(signal.valid_signals()) else (code & 0xFF) << 8


def _feed(attached: Attached, content: bytes) -> None:
    if content:
        with contextlib.suppress(OSError):  # it has stopped listening
            attached.feed(memoryview(content))


def _written(descriptor: int, piece: bytes) -> None:
    left = memoryview(piece)
    while left:
        left = left[os.write(descriptor, left) :]
