"""One seed, one run: processes, clients and trouble for a while; then calm, until all is over."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from skillfleet.conversations.driver import Driver
from skillfleet.conversations.memory_ledger import MemoryLedger
from skillfleet.events import Entry

from .invariants import Invariants
from .orchestrators import Orchestrator
from .persons import People
from .place import BellStore, Place
from .stories import Story, tell_stories
from .violations import Violation, claim_that
from .weather import Weather, forecast
from .workers import Worker
from .world import EPOCH, World

TROUBLE_S = 60.0
RECOVERY_S = 800.0
"""After the trouble: leases, silent workers, then what is left of a tree whose calls kill its only worker, each late
hint included."""
GRACE_S = 5.0
"""For workers to learn that a conversation has ended."""


@dataclass(frozen=True, slots=True)
class Bug:
    """Parts of the fleet, one of them wrong."""

    ledger: Callable[[Any], MemoryLedger] = MemoryLedger
    driver: type[Driver] = Driver


@dataclass(frozen=True, slots=True)
class Outcome:
    seed: int
    violation: str | None
    trace: str
    statuses: dict[str, str] = field(default_factory=dict)


@dataclass(eq=False)
class Run:
    world: World
    place: Place
    bug: Bug
    stories: list[Story]
    ledger: MemoryLedger
    orchestrators: list[Orchestrator] = field(default_factory=list)
    workers: list[Worker] = field(default_factory=list)
    followed: dict[str, list[Entry]] = field(default_factory=dict)
    unsubmitted: int = 0
    calm: bool = False

    @classmethod
    def of(cls, seed: int, bug: Bug, weather: Weather | None = None) -> "Run":
        world = World(seed)
        drawn = weather or forecast(world.random)
        store = BellStore(world)
        slots, room = (world.random.choice([1, 2, 4]) for _ in "sr")
        place = Place(world, drawn, store, Invariants(store, room), slots, room)
        stories = tell_stories(world.random, TROUBLE_S)
        run = cls(world, place, bug, stories, bug.ledger(store), unsubmitted=len(stories))
        world.note("weather", ", ".join(f"{name}={value:g}" for name, value in _known(drawn)) or "calm")
        return run

    def play(self) -> None:
        self._populate(self.world.random)
        self.world.run(EPOCH + TROUBLE_S)
        self._clear_up()
        self.world.run(self.world.now + RECOVERY_S, lambda: not (self.place.invariants.open or self.unsubmitted))
        claim_that(not self.place.invariants.open, "1: it goes on when calm returns", self.place.invariants.open)
        awake = max(worker.process.wakes_at for worker in self.workers)
        self.world.run(max(self.world.now, awake) + GRACE_S)
        self._check()

    def end(self) -> None:
        for orchestrator in self.orchestrators:
            orchestrator.process.end()
        self.world.threads.shutdown()

    def _populate(self, random: Random) -> None:
        for number in range(random.randint(1, 3)):
            self._new_orchestrator(f"o{number + 1}")
        for number in range(random.randint(1, 3)):
            self._new_worker(f"w{number + 1}")
        self.place.queue.arrived = self._arrived
        self.place.servers = lambda: sum(one.picky and not one.process.dead for one in self.workers)
        self.place.routed = random.random() < 0.5
        People(self.place, self.ledger)
        for _ in range(random.choice([0, 0, 1, 3])):
            self.world.after(random.uniform(0, TROUBLE_S), self._meddle)
        for _ in range(self.place.weather.changes):
            self.world.after(random.uniform(0, TROUBLE_S), self._change)
        for story in self.stories:
            self.world.after(story.submitted_at, partial(self._submit, story))
        for _ in range(self.place.weather.outages):
            self.world.after(random.uniform(0, TROUBLE_S), self._outage)
        for _ in range(self.place.weather.flushes):
            self.world.after(random.uniform(0, TROUBLE_S), self.place.queue.flush)
        for _ in range(self.place.weather.handovers):
            self.world.after(random.uniform(0, TROUBLE_S), self._hand_over)

    def _arrived(self) -> None:
        for worker in self.workers:
            worker.look_soon()

    def _new_orchestrator(self, name: str) -> None:
        self.world.note(name, "starts")
        new = Orchestrator(self.place, name, self.bug.ledger, self.bug.driver)
        new.process.mourners.append(lambda: self._restart(name, self._new_orchestrator))
        self.orchestrators.append(new)

    def _new_worker(self, name: str) -> None:
        self.world.note(name, "starts")
        new = Worker(self.place, name)
        new.process.mourners.append(lambda: self._restart(name, self._new_worker))
        self.workers = [worker for worker in self.workers if not worker.process.dead] + [new]

    def _restart(self, name: str, start: Callable[[str], None]) -> None:
        base, _, life = name.partition(".")
        self.world.after(self.world.random.uniform(0.5, 10), lambda: start(f"{base}.{int(life or 1) + 1}"))

    def _submit(self, story: Story, again: bool = False) -> None:
        name = story.spec.id
        if self.place.down:
            self.world.after(1.0, partial(self._submit, story, again))
            return
        known = self.ledger.load(name)
        spec = story.spec if known is None else story.spec.model_copy(update={"id": f"{name} again"})
        (accepted,) = self.ledger.submit(spec)
        if known is not None:
            same = (accepted.id, accepted.at) == (name, known.spec.created_at)
            claim_that(same, "2: the same key, the same conversation", (name, accepted))
        self.world.note("client", f"submits {name}")
        self.place.invariants.accepted(name, story.spec)
        if again:
            return
        self.unsubmitted -= 1
        self.world.after(0.1, partial(self._follow, name, self.followed.setdefault(name, [])))
        if self.world.chance(0.2):
            self.world.after(self.world.random.uniform(0, 20), partial(self._submit, story, True))
        if story.cancelled_at is not None:
            self.world.at(EPOCH + story.cancelled_at, partial(self._cancel, name))
        if story.paused_at is not None:
            self.world.at(EPOCH + story.paused_at, partial(self._pause, name))

    def _meddle(self) -> None:
        """Somebody ends a subagent, or stops it for a while."""
        begun = [name for name in self.place.invariants.open if name not in self.followed]
        if begun:
            act = self.world.random.choice([self._cancel, self._pause])
            act(self.world.random.choice(sorted(begun)))

    def _cancel(self, name: str) -> None:
        if self.place.down:
            self.world.after(1.0, partial(self._cancel, name))
            return
        cancelled = self.ledger.cancel(name)
        self.world.note("client", f"cancels {name}: {cancelled}")
        self.place.invariants.look(name)
        self.place.invariants.records[name].cancelled |= cancelled

    def _pause(self, name: str) -> None:
        if self.place.down:
            self.world.after(1.0, partial(self._pause, name))
            return
        if self.ledger.pause(name):
            self.world.note("client", f"pauses {name}")
            self.place.disturbances += 1
            self.place.invariants.look(name)
            self.place.invariants.records[name].paused(self.world.now)
            self.world.after(self.world.random.uniform(0.1, 20), partial(self._resume, name))

    def _resume(self, name: str) -> None:
        if self.place.down:
            self.world.after(1.0, partial(self._resume, name))
            return
        self.place.invariants.records[name].resumed(self.world.now)
        self.world.note("client", f"resumes {name}: {self.ledger.resume(name)}")
        self.place.invariants.look(name)

    def _follow(self, name: str, seen: list[Entry]) -> None:
        """Reads on from the last entry that it saw; now and then the connection breaks before it has seen all."""
        if not self.place.down:
            found = self.ledger.entries(name, seen[-1].cursor if seen else "0", 0)
            seen += found[: self.world.random.randint(0, len(found))]
        if not self.calm:
            self.world.after(self.world.random.uniform(0.1, 10), partial(self._follow, name, seen))

    def _outage(self) -> None:
        seconds = self.world.random.uniform(0.1, 20)
        self.world.note("redis", f"is gone for {seconds:.1f} s")
        self.place.disturbances += 1
        self.place.down_until = self.place.store.awake_since = max(self.place.down_until, self.world.now + seconds)

    def _change(self) -> None:
        """Of what workers can run; `_arrived`: those that go on to hear another queue find what waits there."""
        self.place.routed = not self.place.routed
        self.world.note("workers", "part of them serve a route" if self.place.routed else "all can run all")
        self._arrived()

    def _hand_over(self) -> None:
        living = [one for one in self.orchestrators if not one.process.dead]
        if living:
            self.place.disturbances += 1
            self.world.random.choice(living).leave()

    def _clear_up(self) -> None:
        self.world.note("weather", "calm")
        self.calm = True
        self.place.clear_up()

    def _check(self) -> None:
        for name in self.place.invariants.records:
            ended = self.ledger.load(name)
            assert ended is not None
            seen = self.followed.get(name, [])
            seen += self.ledger.entries(name, seen[-1].cursor if seen else "0", 0)
            self.place.invariants.at_end(name, ended, seen, self.place.disturbances)
        counted = [conversation.id for conversation in self.ledger.newest(len(self.place.invariants.records) + 1)]
        claim_that(sorted(counted) == sorted(self.place.invariants.records), "8: all are there", counted)
        left = [ref.task_id for worker in self.workers if not worker.process.dead for ref in worker.running]
        claim_that(not left, "nothing is left running", left)
        store = self.place.store
        queues = store.places.values()
        waiting = [members for one in queues for members in one.waiting.members.values()]
        kept = (*waiting, *(one.sent for one in queues), *store.ready.members.values(), store.due)
        claim_that(not any(kept), "nobody keeps a place", kept)


def _known(weather: Weather) -> list[tuple[str, float]]:
    return [(name, value) for name in Weather.__slots__ if (value := getattr(weather, name))]


def simulate(seed: int, bug: Bug | None = None, weather: Weather | None = None) -> Outcome:
    run = Run.of(seed, bug or Bug(), weather)
    violation = None
    try:
        run.play()
    except Violation as found:
        violation = str(found)
        run.world.note("broken", violation)
    finally:
        run.end()
    ended = {name: record.status for name, record in run.place.invariants.records.items()}
    return Outcome(seed, violation, run.world.told(), ended)
