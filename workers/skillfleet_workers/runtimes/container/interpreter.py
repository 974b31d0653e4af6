"""A warm interpreter in a container of its own."""

import contextlib
import os
import select
import socket
from dataclasses import dataclass, replace
from pathlib import Path

import docker

from ...python import base_interpreter
from ..base import RuntimeUnavailableError
from ..inside import seccomp
from ..inside.config import Config
from ..sandbox import INSIDE, PROGRAM, interpreter_paths
from ..warm.channel import START_PATIENCE_S, Channel, DeadInterpreterError, Lease
from ..warm.recipe import ONE_THREAD, Recipe
from .attached import Attached
from .engine import engine_trouble, remove
from .hardening import NO_QUOTA, Plan, Shown, cores, options
from .images import Image
from .place import SOCKET, Place

START_MEMORY_MB = 2048
KILL_GRACE_S = 0.5
"""What hinders its init in a container can't be told from it: then all of the container is killed."""

COUNTER_BYTES = 512
SAID_BYTES = 2000


@dataclass(frozen=True, slots=True)
class Host:
    """What all containers of one worker share. `runtime`: the engine's, None: its default one."""

    client: docker.DockerClient
    scratch: Path
    user: tuple[int, int]
    labels: dict[str, str]
    runtime: str | None = None


class WarmContainer:
    """`image` has the interpreter, or shows the worker's where it is not the skill's own."""

    kill_grace_s = KILL_GRACE_S

    def __init__(self, recipe: Recipe, image: Image, host: Host) -> None:
        self.recipe = recipe
        self.runs = 0
        self._image, self._host = image, host
        self._place = Place(host.scratch, host.user)
        self._container: str | None = None
        self._channel: Channel | None = None
        self._usage = self._events = -1
        self._hastened = False

    def start(self) -> None:
        client = self._host.client
        with engine_trouble("a container cannot be started"):
            made = client.api
            with self._place.listen() as listener:
                self._container = client.containers.create(**options(self._plan()), auto_remove=True).id
                with contextlib.closing(Attached(client, self._container)) as attached:
                    made.start(self._container)
                    connection = self._connected(listener, attached)
        self._channel = Channel(connection)
        self._channel.wait_until_up()
        self._channel.ask()
        room = self.memory_bytes() + (self.recipe.limits.memory_mb << 20)
        with engine_trouble("a container cannot be limited"):
            made.update_container(self._container, mem_limit=room, memswap_limit=room, **cores(self.recipe.limits))

    def ask(self) -> None:
        if self._channel is not None:
            self._channel.ask()

    def lease(self) -> Lease:
        if self._channel is None:
            raise DeadInterpreterError("it was ended")
        lease = self._channel.lease()
        self.runs += 1
        if not self.recipe.limits.cpus:
            return lease
        if self._hastened:
            try:
                self._limit_cores(cores(self.recipe.limits))
            except RuntimeUnavailableError as failed:
                lease.close()
                raise DeadInterpreterError(str(failed)) from failed
            self._hastened = False
        return replace(lease, hasten=self._hasten)

    def _hasten(self) -> None:
        """What has to kill the run is limited with it."""
        self._hastened = True
        with contextlib.suppress(RuntimeUnavailableError):  # it may have ended already
            self._limit_cores({"cpu_quota": NO_QUOTA})

    def _limit_cores(self, limits: dict[str, int]) -> None:
        with engine_trouble("a container's cores cannot be limited"):
            self._host.client.api.update_container(self._container, **limits)

    def oom_kills(self) -> int:
        words = self._counted(self._events).split()
        return int(words[words.index(b"oom_kill") + 1]) if words else 0

    def memory_bytes(self) -> int:
        return int(self._counted(self._usage) or 0)

    def _counted(self, counter: int) -> bytes:
        """Empty where the container is gone, or not there yet."""
        try:
            return os.pread(counter, COUNTER_BYTES, 0)
        except OSError:
            return b""

    def end(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self._container is not None:
            remove(self._host.client, self._container)
            self._container = None
        for counter in (self._usage, self._events):
            if counter >= 0:
                os.close(counter)
        self._usage = self._events = -1
        self._place.remove()

    def _connected(self, listener: socket.socket, attached: Attached) -> socket.socket:
        """Raises: RuntimeUnavailableError: it ended first, with what it said."""
        ready, _, _ = select.select([listener.fileno(), attached.fileno()], [], [], START_PATIENCE_S)
        if listener.fileno() not in ready:
            said = attached.rest(SAID_BYTES).decode("utf-8", "replace").strip() if ready else "it says nothing"
            raise RuntimeUnavailableError(f"no interpreter comes up in image {self._image.name}: {said[-600:]}")
        connection, _ = listener.accept()
        _, (self._usage, self._events), _, _ = socket.recv_fds(connection, COUNTER_BYTES, 2)
        return connection

    def _plan(self) -> Plan:
        recipe, host = self.recipe, self._host
        python, paths = _interpreter(recipe, self._image)
        connect = [str(python), "-I", "-S", f"{PROGRAM}/inside/connect.py", f"{PROGRAM}/channel/{SOCKET}"]
        config = config_of(recipe, recipe.imports).encoded()
        inside = Shown(INSIDE, Path(PROGRAM, "inside")), Shown(self._place.channel, Path(PROGRAM, "channel"))
        return Plan(
            image=self._image.id,
            program=(*connect, str(python), "-m", "inside", config),
            paths=paths,
            user=host.user,
            limits=recipe.limits,
            network=recipe.network,
            memory_mb=START_MEMORY_MB + recipe.limits.memory_mb,
            labels=host.labels,
            folder=PROGRAM,
            shown=(*self._place.way_to(paths), *inside),
            environment={**ONE_THREAD, **dict(recipe.variables)},
            engine_runtime=host.runtime,
        )


def shown_paths(recipe: Recipe) -> tuple[Path, ...]:
    """The skill, and what its interpreter is made of where the image does not bring it."""
    if recipe.image:
        return (recipe.skill_root,)
    interpreters = (*interpreter_paths(recipe.interpreter), *interpreter_paths(base_interpreter()))
    return recipe.skill_root, *interpreters, *recipe.programs


def _interpreter(recipe: Recipe, image: Image) -> tuple[Path, tuple[Path, ...]]:
    paths = shown_paths(recipe)
    if recipe.image:
        return Path(image.interpreters["python"]), paths
    return (base_interpreter() if recipe.execs else recipe.interpreter), paths


def config_of(recipe: Recipe, imports: tuple[str, ...] = (), *, alone: bool = False) -> Config:
    """`alone`: a container for one run, whose namespaces are the run's."""
    return Config(
        folder=str(recipe.skill_root),
        imports=imports,
        execs=recipe.execs,
        nested=alone,
        emptied=("/tmp", "/dev/shm", "/dev/mqueue"),
        network=True,  # what closes it is the container's network namespace
        disk_mb=recipe.limits.disk_mb,
        readable=("/",),
        writable=("/tmp", "/dev", "/proc"),
        filter=seccomp.program(os.uname().machine, network=recipe.network == "host"),
        cpu_seconds=recipe.limits.cpu_seconds or 0,
    )
