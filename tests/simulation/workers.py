"""A worker, as its side of the ledger sees it: take a hint, claim the attempt, prove its life, commit a result."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from skillfleet.conversations.memory_calls import MemoryCallLedger
from skillfleet_workers.wire.calls import CallResult
from skillfleet_workers.wire.contract import CallMessage, CallRef

from .chains import FLAKY, status_for
from .invariants import Invariants
from .place import PICKY, Place, a_while
from .stories import RETRIES, poisonous, shown_for, told_effects, told_governing
from .world import Process

THREADS = 2
BEAT_S = 1.0
BROKER_BACK_S = 0.5
PATIENCE_S = 60.0
"""A result outlives an outage of redis this long."""


@dataclass(eq=False)
class Worker:
    place: Place
    name: str
    running: dict[CallRef, CallResult] = field(default_factory=dict)
    beating: bool = False

    @property
    def picky(self) -> bool:
        """Whether it can run the skill that not all can, where that is so."""
        return self.name.startswith("w1")

    @property
    def routes(self) -> list[str]:
        return ["", PICKY] if self.place.routed and self.picky else [""]

    def __post_init__(self) -> None:
        self.process = Process(self.place.world, self.name)
        self._calls = MemoryCallLedger(self.place.store)
        self.look_soon()

    @property
    def _invariants(self) -> Invariants:
        return self.place.invariants

    def look_soon(self) -> None:
        self.process.after(self.place.world.random.uniform(0.0, 0.02), self._look)

    def _look(self) -> None:
        if self.place.down:
            self.process.after(BROKER_BACK_S, self._look)
            return
        message = self.place.queue.take(self.routes) if len(self.running) < THREADS else None
        if message is not None and self.place.route_of(message.request) not in self.routes and self.place.servers():
            self.place.world.note(self.name, f"passes {message.ref.task_id} on")
            self.place.queue.arrive(PICKY, message)
            self.look_soon()
        elif message is not None:
            self._unless_struck(f"with {message.ref.task_id} in hand", partial(self._claim, message))
            self.look_soon()

    def _claim(self, message: CallMessage) -> None:
        if self.place.down:
            return
        claimed = self._calls.claim(message.ref, self.name, told_effects(message.request))
        self._invariants.look(message.ref.conversation_id)
        self.place.world.note(self.name, f"claims {message.ref.task_id}: {claimed}")
        if claimed == "claimed" and not self.place.world.chance(self.place.weather.answer_lost):
            self._unless_struck(f"before it runs {message.ref.task_id}", partial(self._begin, message))

    def _begin(self, message: CallMessage) -> None:
        self._invariants.began(message.ref, told_effects(message.request) or self._known_effects(message))
        if poisonous(message.request):
            self.process.die(f"of {message.ref.task_id}")
            return
        self.running[message.ref] = self._result(message)
        random = self.place.world.random
        seconds = random.uniform(0, 30) if random.random() < 0.1 else random.uniform(0, 1)
        self.process.after(seconds, partial(self._finish, message.ref, self.place.world.now + seconds + PATIENCE_S))
        if not self.beating:
            self.beating = True
            self.process.after(BEAT_S, self._beat)

    def _known_effects(self, message: CallMessage) -> str:
        kept = self.place.store.find(message.ref.conversation_id)
        assert kept is not None
        return next(run.task.effects for run in kept.position.runs if run.key == message.ref.key)

    def _result(self, message: CallMessage) -> CallResult:
        if self.place.world.chance(self.place.weather.sandbox_dies):
            return CallResult(status="lost", shown="its sandbox was killed", worker=self.name)
        first = self._invariants.records[message.ref.conversation_id].ran[message.ref.key] == 1
        if first and message.request.get("script") == FLAKY:
            return CallResult(status="failed", shown="not this time", worker=self.name)
        shown, governing = shown_for(message.ref, message.request), told_governing(message.request)
        return CallResult(status=status_for(message.request), shown=shown, worker=self.name, governing=governing)

    def _finish(self, ref: CallRef, give_up: float) -> None:
        self._unless_struck(f"before it commits {ref.task_id}", partial(self._commit, ref, give_up))

    def _commit(self, ref: CallRef, give_up: float) -> None:
        if ref not in self.running:
            return
        if self.place.down:
            if self.place.world.now < give_up:
                self.process.after(0.5, partial(self._commit, ref, give_up))
            else:
                del self.running[ref]
            return
        result = self.running[ref]
        if result.status == "lost":
            told = f"loses {ref.task_id}: {self._calls.hand_back(ref, result.shown)}"
        else:
            done = self._calls.commit(ref, result, self._retries(ref) if result.status == "failed" else 0)
            told = f"commits {ref.task_id}: {done}"
        self._invariants.look(ref.conversation_id)
        self.place.world.note(self.name, told)
        if self.place.world.chance(self.place.weather.answer_lost):
            self.process.after(0.5, partial(self._commit, ref, give_up))
            return
        del self.running[ref]
        self.look_soon()

    def _retries(self, ref: CallRef) -> int:
        kept = self.place.store.find(ref.conversation_id)
        plan = kept.position.spec.plan if kept else None
        return RETRIES if plan is None else plan.plan.tools[ref.index].retry_policy.max_retries

    def _beat(self) -> None:
        if not self.place.down:
            for ref in self._calls.beat(self.running):
                self.place.world.note(self.name, f"kills {ref.task_id}, which nobody wants any more")
                del self.running[ref]
                self.look_soon()
        self.beating = bool(self.running)
        if self.beating:
            self.process.after(BEAT_S, self._beat)

    def _unless_struck(self, what: str, go_on: Callable[[], None]) -> None:
        """Go on: never if it dies here, later if it is stopped."""
        if self.place.world.chance(self.place.weather.worker_dies):
            self.process.die(what)
        elif self.place.world.chance(self.place.weather.worker_stops):
            self.process.stop_for(a_while(self.place.world))
            self.process.after(0.0, go_on)
        else:
            go_on()
