"""Whatever holds scripts of this process dies at random."""

import contextlib
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import docker
import psutil
from docker.errors import APIError

from skillfleet_workers.runtimes.container.engine import owned
from skillfleet_workers.runtimes.owner import this_process

CALM_S = 2.5
MOST_AT_ONCE = 5
SETTLES_S = 1.0
"""So long after a kill, what hung on the killed process may still be dying."""


@dataclass
class Killer:
    """`engine`: None where there are no containers."""

    engine: docker.DockerClient | None
    random: random.Random
    killed: Counter[str] = field(default_factory=Counter)
    _moments: list[float] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)

    def work(self) -> None:
        """Bursts of kills until `stop`."""
        while not self._over.wait(CALM_S):
            for _ in range(self.random.randint(1, MOST_AT_ONCE)):
                self._one()
                self._over.wait(self.random.uniform(0, 0.1))

    def stop(self) -> None:
        self._over.set()

    def disturbed(self, began: float, ended: float) -> bool:
        """Whether something died that a run between these moments may have hung on."""
        return any(began - SETTLES_S <= moment <= ended for moment in self._moments)

    def _one(self) -> None:
        roles: dict[str, list[psutil.Process]] = {}
        for role, process in ours():
            roles.setdefault(role, []).append(process)
        choices = sorted([*roles, *(["container"] if self.engine else [])])
        if not choices:
            return
        role = self.random.choice(choices)
        self._moments.append(time.monotonic())
        with contextlib.suppress(psutil.Error, APIError):
            if role == "container":
                self._kill_container()
            else:
                self.random.choice(roles[role]).kill()
                self.killed[role] += 1
        self._moments.append(time.monotonic())

    def _kill_container(self) -> None:
        """All of it by its engine, or one of its processes."""
        assert self.engine
        containers = sorted(owned(self.engine, this_process()))
        if not containers:
            return
        container = self.random.choice(containers)
        inside = self.engine.api.top(container, "-o pid")["Processes"]
        if self.random.random() < 0.5:
            self.engine.api.kill(container)
            self.killed["container"] += 1
        elif inside and os.geteuid() == 0:
            psutil.Process(int(self.random.choice(inside)[0])).kill()
            self.killed["process in a container"] += 1


def ours() -> Iterator[tuple[str, psutil.Process]]:
    """Our descendants by what they do."""
    me = os.getpid()
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            words = process.cmdline()
            above = process.parent()
            if words and above and (role := _role(words, above.cmdline(), above.pid == me)):
                yield role, process


def _role(words: list[str], above: list[str], child_of_ours: bool) -> str:
    if words[0].endswith("bwrap"):
        return "bubblewrap"
    if "inside" in words:
        return "spare or script" if "inside" in above else "warm interpreter"
    if any(word.endswith("supervisor.py") for word in words):
        return "resident supervisor" if child_of_ours else "init of the supervisor"
    return ""
