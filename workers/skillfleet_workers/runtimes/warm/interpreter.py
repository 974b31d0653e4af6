"""One warm interpreter in its sandbox: started, asked for spares, ended."""

import contextlib
import itertools
import os
import socket
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

from ...python import base_interpreter
from ..capture import KILL_GRACE_S
from ..cgroup import Cgroup
from ..cgroups import Cgroups
from ..handover import framed, hand_over
from ..inside import seccomp
from ..inside.config import Config
from ..resident import ANSWER_TIMEOUT_S, Resident
from ..sandbox import View, command, interpreter_paths, outermost
from .channel import Channel, Lease
from .recipe import ONE_THREAD, Recipe
from .weight import weight_below

START_MEMORY_MB = 2048
SPARES = 2
"""Made ahead: one is ready while the last is being replaced."""

OWN_PROCESSES = 5 + 2 * (SPARES - 1)
"""Of a sandbox while a run is on: bubblewrap's two, the interpreter with its two threads, the run's init; and a
spare with its init."""

numbers = itertools.count(1)


class WarmInterpreter:
    kill_grace_s = KILL_GRACE_S

    def __init__(self, recipe: Recipe, resident: Resident, cgroups: Cgroups | None, user: int | None) -> None:
        self.recipe = recipe
        self.runs = 0
        self._resident, self._cgroups, self._user = resident, cgroups, user
        self.cgroup: Cgroup | None = None
        ours, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel = Channel(ours)
        self._ending = threading.Lock()
        self._hold: socket.socket | None = None
        self._top = 0
        """The process that holds the sandbox, as the host counts."""

    def start(self) -> None:
        if self._cgroups is not None:
            limits = self.recipe.limits
            room = START_MEMORY_MB + limits.memory_mb
            self.cgroup = self._cgroups.create(
                f"warm-{next(numbers)}", memory_mb=room, pids=limits.pids + OWN_PROCESSES, cpus=limits.cpus
            )
        init = self._resident.take()
        self._hold, self._top = init.control, init.pid
        init.control.settimeout(ANSWER_TIMEOUT_S)
        with self._theirs, Path(os.devnull).open("rb") as nothing:
            streams = [nothing.fileno(), self._theirs.fileno(), self._theirs.fileno()]
            hand_over(init.control, framed("/", self._command(), {}), streams)
        self._channel.wait_until_up()
        if self.cgroup is not None:
            self.cgroup.limit_memory(self.cgroup.memory_bytes() + (self.recipe.limits.memory_mb << 20))
        for _ in range(SPARES):
            self.ask()

    def ask(self) -> None:
        self._channel.ask()

    def lease(self) -> Lease:
        lease = self._channel.lease()
        self.runs += 1
        if self.cgroup is None or not (cpus := self.recipe.limits.cpus):
            return lease
        try:
            self.cgroup.limit_cpu(cpus)  # the last run may have been hastened to its end
        except OSError:
            lease.close()
            raise
        return replace(lease, hasten=partial(self.cgroup.limit_cpu, None))

    def oom_kills(self) -> int:
        return self.cgroup.oom_kills() if self.cgroup is not None else 0

    def memory_bytes(self) -> int:
        try:
            return self.cgroup.memory_bytes() if self.cgroup is not None else weight_below(self._top)
        except OSError:  # it was ended from outside, as its next run will find
            return 0

    def end(self) -> None:
        self._channel.close()
        self._theirs.close()
        with self._ending:  # its run may end it while the worker does
            if self._hold is not None:
                said = b""
                with contextlib.suppress(OSError):
                    self._hold.settimeout(ANSWER_TIMEOUT_S)
                    self._hold.send(b"k")
                    while b"done " not in said and (piece := self._hold.recv(4096)):  # it may have ended long ago
                        said += piece
                self._hold.close()
                self._hold = None
            if self.cgroup is not None:
                self.cgroup.remove()
                self.cgroup = None

    def _command(self) -> list[str]:
        recipe = self.recipe
        python = base_interpreter() if recipe.execs else recipe.interpreter
        interpreters = (*interpreter_paths(python), *interpreter_paths(recipe.interpreter))
        paths = [recipe.skill_root, *interpreters, *recipe.programs]
        view = View(outermost(paths), recipe.network)
        config = self._config(view).encoded()
        variables = {"PATH": "/usr/bin:/bin", **ONE_THREAD, **dict(recipe.variables)}
        join = self.cgroup.attach_files if self.cgroup else []
        return command(view, [str(python), "-m", "inside", config], variables, join, self._user)

    def _config(self, view: View) -> Config:
        recipe = self.recipe
        return Config(
            folder=str(recipe.skill_root),
            imports=recipe.imports,
            execs=recipe.execs,
            inits=SPARES,
            network=True,  # what closes it is the sandbox's network namespace; Landlock would close loopback too
            disk_mb=recipe.limits.disk_mb,
            readable=("/",),
            writable=("/tmp", "/dev", "/proc"),
            hidden=view.hidden,
            filter=seccomp.program(os.uname().machine, network=recipe.network == "host"),
            memory_mb=0 if self.cgroup or not recipe.bounds_heap else recipe.limits.memory_mb,
            pids=0 if self.cgroup else recipe.limits.pids,
            cpu_seconds=recipe.limits.cpu_seconds or 0,
        )
