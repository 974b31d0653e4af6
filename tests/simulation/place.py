"""What the processes of a run share: redis, the tool queue, and the trouble at their doors."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import redis

from skillfleet.conversations.ledger import LEASE_S
from skillfleet.conversations.memory_store import CallPlaces, MemoryStore
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.runs import ToolRun
from skillfleet.conversations.schedule import LOST_AFTER_S, Rooms
from skillfleet_workers.wire.contract import CallMessage

from .invariants import Invariants
from .plans import look_at_message
from .turns import WatchedCalls, WatchedQueue
from .weather import Weather
from .world import Died, Fibre, Process, World

Answer = TypeVar("Answer")
LATE_S = 30.0
PICKY = "pdf"
"""The skill, and its route where it has one."""


def a_while(world: World) -> float:
    """How long a process is stopped: often just so long that others have come to think it dead."""
    bound = world.random.choice([LOST_AFTER_S, LEASE_S, 40.0])
    return world.random.uniform(0.9, 1.1) * bound if bound < 40 else world.random.uniform(0.1, bound)


class BellStore(MemoryStore):
    """Its doorbell wakes one fibre that waits for it, where it is not lost."""

    def __init__(self, world: World) -> None:
        super().__init__(world.clock)
        self._world = world
        self.ready: WatchedQueue = WatchedQueue("conversations")
        self.places = defaultdict(lambda: CallPlaces(WatchedCalls("calls")))
        self.bell_lost = 0.0
        self.listening: list[Fibre] = []

    def ring_bell(self) -> None:
        super().ring_bell()
        if self._world.chance(self.bell_lost):
            self.bells = 0
        elif self.listening:
            self.listening.pop(0).wake()


@dataclass(eq=False)
class Place:
    world: World
    weather: Weather
    store: BellStore
    invariants: Invariants
    slots: int = 4
    """Of each orchestrator."""
    room: int = 4
    down_until: float = 0.0
    routed: bool = False
    """Whether only some workers can run the calls of one skill."""
    servers: Callable[[], int] = lambda: 0
    """How many of those live."""
    disturbances: int = 0
    """Whatever may make somebody pay for a model's reply that nobody records."""
    queue: "ToolQueue" = field(init=False)

    def __post_init__(self) -> None:
        self.queue = ToolQueue(self)
        self.store.bell_lost = self.weather.bell_lost

    def clear_up(self) -> None:
        """From now on nothing goes wrong."""
        self.weather = Weather()
        self.store.bell_lost, self.down_until = 0.0, 0.0

    @property
    def down(self) -> bool:
        return self.world.now < self.down_until

    def route_of(self, request: Mapping[str, Any]) -> str:
        return PICKY if self.routed and request.get("skill_name") == PICKY else ""

    def rooms(self) -> Rooms:
        return Rooms(self.room, {PICKY: self.room} if self.routed and self.servers() else {})

    def trouble(self, process: Process, what: str) -> None:
        """At the door of redis, from within a fibre of an orchestrator."""
        world, weather = self.world, self.weather
        if world.chance(weather.orchestrator_dies):
            self.disturbances += 1
            process.die(what)
            raise Died
        if world.chance(weather.orchestrator_stops):
            self.disturbances += 1
            process.stop_for(a_while(world))
            world.sleep(0.0)
        elif world.chance(weather.slow):
            world.sleep(world.random.uniform(0.0, 3.0 if world.chance(0.1) else 0.3))

    def reach(self, process: Process, what: str, act: Callable[[], Answer]) -> Answer:
        """One call of an orchestrator to redis."""
        self.trouble(process, f"before it can {what}")
        if self.down:
            raise redis.ConnectionError("redis is gone")
        answer = act()
        self.trouble(process, f"after it could {what}")
        if self.world.chance(self.weather.answer_lost):
            self.disturbances += 1
            self.world.note(process.name, f"does not hear that it could {what}")
            raise redis.TimeoutError("no answer")
        return answer


class ToolQueue:
    """The broker's: hints that are lost, doubled, late and out of order."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self.waiting: dict[str, list[CallMessage]] = {"": [], PICKY: []}
        """By route."""
        self.arrived: Callable[[], None] = lambda: None

    def put(self, conversation: Conversation, run: ToolRun) -> None:
        world, weather = self._place.world, self._place.weather
        look_at_message(self._place.store, conversation, run)
        message = CallMessage(ref=run.ref, request=run.request, skills=conversation.spec.skills)
        if world.chance(weather.message_lost):
            world.note("broker", f"loses {run.ref.task_id}")
            return
        for _ in range(1 + world.chance(weather.message_twice)):
            late = world.chance(weather.message_late)
            world.after(world.random.uniform(0, LATE_S if late else 0.01), lambda: self.arrive(run.route, message))

    def flush(self) -> None:
        self._place.world.note("broker", f"is flushed: {sum(map(len, self.waiting.values()))} gone")
        for waiting in self.waiting.values():
            waiting.clear()

    def take(self, routes: Iterable[str]) -> CallMessage | None:
        """In their order, but in the weather in which messages are late."""
        waiting = next((waiting for route in routes if (waiting := self.waiting[route])), None)
        if not waiting:
            return None
        mixed = self._place.weather.message_late > 0
        return waiting.pop(self._place.world.random.randrange(len(waiting)) if mixed else 0)

    def arrive(self, route: str, message: CallMessage) -> None:
        self.waiting[route].append(message)
        self.arrived()
