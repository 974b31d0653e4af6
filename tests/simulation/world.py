"""Time, chance and turns: one agenda, one random source, and fibres of which exactly one runs at any moment."""

import heapq
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from random import Random

EPOCH = 1_700_000_000.0
MAX_FIBRES = 1000


def closed_gate() -> threading.Lock:
    """Releasing it lets the one who waits through, once."""
    gate = threading.Lock()
    gate.acquire()
    return gate


class Died(BaseException):
    """Its process is no more: nothing but `finally` may follow, as no effect can."""


class Fibre:
    """A thread of a simulated process. It runs only while the world waits for it, so a run is one sequence."""

    def __init__(self, world: "World", process: "Process", work: Callable[[], None]) -> None:
        self._world, self._process, self._work = world, process, work
        self._turn = closed_gate()
        self._nap = 0
        self.over = False
        self._outcome = world.threads.submit(self._run)

    def go_on(self, nap: int | None = None) -> None:
        """From the agenda: let it run until it sleeps or ends. `nap`: only if that sleep is not over yet."""
        if self.over or nap not in (None, self._nap):
            return
        if not self._process.dead and self._process.wakes_at > self._world.now:
            self._world.at(self._process.wakes_at, partial(self.go_on, self._nap))
            return
        self._world.running, before = self, self._world.running
        self._turn.release()
        self._world.turn_over.acquire()
        self._world.running = before
        if self.over:
            self._outcome.result()

    def sleep(self, seconds: float) -> None:
        """From within."""
        self._nap += 1
        self._world.after(seconds, partial(self.go_on, self._nap))
        self._world.turn_over.release()
        self._turn.acquire()
        self._nap += 1
        if self._process.dead:
            raise Died

    def wake(self) -> None:
        self._world.after(0.0, partial(self.go_on, self._nap))

    def _run(self) -> None:
        self._turn.acquire()
        try:
            if not self._process.dead:
                self._work()
        except Died:
            return
        finally:
            self.over = True
            self._world.turn_over.release()


@dataclass(eq=False)
class Process:
    """What dies, and is stopped, as a whole."""

    world: "World"
    name: str
    dead: bool = False
    wakes_at: float = 0.0
    """It is stopped (SIGSTOP) until then."""
    fibres: list[Fibre] = field(default_factory=list)
    mourners: list[Callable[[], None]] = field(default_factory=list)

    def spawn(self, work: Callable[[], None]) -> None:
        self.fibres = [fibre for fibre in self.fibres if not fibre.over]
        self.fibres.append(Fibre(self.world, self, work))
        self.world.after(0.0, self.fibres[-1].go_on)

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        """An action of this process: not done by a dead one, and by a stopped one when it goes on."""

        def due() -> None:
            if self.dead:
                return
            if self.wakes_at > self.world.now:
                self.world.at(self.wakes_at, due)
            else:
                act()

        self.world.after(seconds, due)

    def stop_for(self, seconds: float) -> None:
        self.world.note(self.name, f"is stopped for {seconds:.1f} s")
        self.wakes_at = max(self.wakes_at, self.world.now + seconds)

    def die(self, why: str) -> None:
        """Its fibres end when next they would go on: which is now."""
        if self.dead:
            return
        self.dead = True
        self.world.note(self.name, f"dies: {why}")
        for fibre in self.fibres:
            self.world.after(0.0, fibre.go_on)
        for mourn in self.mourners:
            mourn()

    def end(self) -> None:
        """At once, when the whole run is over."""
        self.dead = True
        for fibre in self.fibres:
            if fibre is not self.world.running:
                fibre.go_on()


@dataclass(eq=False)
class World:
    seed: int
    now: float = EPOCH
    trace: list[tuple[float, str, str]] = field(default_factory=list)
    running: Fibre | None = None
    threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(MAX_FIBRES))
    turn_over: threading.Lock = field(default_factory=closed_gate)
    _agenda: list[tuple[float, float, int, Callable[[], None]]] = field(default_factory=list)
    _count: int = 0

    def __post_init__(self) -> None:
        self.random = Random(self.seed)

    def clock(self) -> float:
        return self.now

    def at(self, time: float, act: Callable[[], None]) -> None:
        """What is due at the same moment happens in an order that chance decides."""
        self._count += 1
        heapq.heappush(self._agenda, (max(time, self.now), self.random.random(), self._count, act))

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        self.at(self.now + seconds, act)

    def run(self, until: float, done: Callable[[], bool] = lambda: False) -> None:
        while self._agenda and self._agenda[0][0] <= until and not done():
            self.now, _, _, act = heapq.heappop(self._agenda)
            act()

    def sleep(self, seconds: float) -> None:
        """From within a fibre."""
        assert self.running is not None
        self.running.sleep(seconds)

    def note(self, who: str, what: str) -> None:
        self.trace.append((self.now, who, what))

    def chance(self, probability: float) -> bool:
        """An impossible thing draws nothing."""
        return probability > 0 and self.random.random() < probability

    def told(self) -> str:
        """The trace, for people: seconds since the beginning, who, what."""
        return "\n".join(f"{at - EPOCH:9.3f}  {who:<8} {what}" for at, who, what in self.trace)
