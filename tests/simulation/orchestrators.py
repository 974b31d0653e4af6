"""An orchestrator: the real driver, its slots and its lease keeper in fibres, on a ledger that lies behind a door."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import redis

from skillfleet.conversations.asking import Asking
from skillfleet.conversations.driver import IDLE_S, Driver
from skillfleet.conversations.ledger import LEASE_S, Accepted, Claim, Ledger, Nothing, Written
from skillfleet.conversations.limits import Problem
from skillfleet.conversations.memory_ledger import MemoryLedger
from skillfleet.conversations.models import Conversation, ConversationSpec, Status
from skillfleet.conversations.runs import ToolRun
from skillfleet.conversations.schedule import LEAST_ROOMS, Rooms
from skillfleet.events import Told
from skillfleet.llm.base import Hear, ModelReply, ModelRequest, deaf
from skillfleet.subagents.mailbox import AgentMessage, Delivered
from skillfleet_workers.wire.contract import CallRef

from .place import Place
from .stories import PARALLEL, written_reply
from .world import Fibre, Process

DEAF_S = 0.01
"""Between two looks that take no time: time must pass."""

Ledgers = Callable[[Any], MemoryLedger]


class SimulatedLedger(MemoryLedger):
    """What the driver calls, each call with its trouble and, when it was done, its invariants."""

    def __init__(self, place: Place, process: Process, inner: MemoryLedger) -> None:
        self._place, self._process, self._inner = place, process, inner

    def submit(self, *specs: ConversationSpec) -> list[Accepted]:
        """A child, as it begins."""
        (spec,) = specs

        def act() -> list[Accepted]:
            accepted = self._inner.submit(spec)
            self._note(f"begins {spec.id}: {bool(accepted[0].id)}")
            if accepted[0].id:
                self._place.invariants.accepted(spec.id)
            return accepted

        return self._place.reach(self._process, f"begin {spec.id}", act)

    def claim(self, only: str | None = None, rooms: Rooms = LEAST_ROOMS) -> Claim | Nothing:
        def act() -> Claim | Nothing:
            found = self._inner.claim(only, rooms)
            if isinstance(found, Claim):
                self._note(f"claims {found.conversation.id} with fence {found.fence}")
                # Where redis is slow, a lease may be over before its holder comes to renew it.
                lapsed = self._place.invariants.records[found.conversation.id].holder is not None
                self._place.disturbances += lapsed and self._place.weather.slow > 0
                self._place.store.ready.served(found.conversation.id)
                self._place.invariants.claimed(found)
            return found

        return self._place.reach(self._process, "claim", act)

    def commit(
        self,
        fence: int,
        after: Conversation,
        told: Sequence[Told],
        due: float | None,
        sends: Sequence[ToolRun] = (),
        rooms: Rooms = LEAST_ROOMS,
        taken: Sequence[str] = (),
    ) -> Written | None:
        def act() -> Written | None:
            done = self._place.invariants.written(
                after.id,
                fence,
                partial(self._inner.commit, fence, after, told, due, sends, rooms, taken),
                lets_go=lambda done: after.terminal or due is not None or not done,
            )
            what = ", ".join(kind for kind, _ in told) or "nothing"
            self._note(f"commits {after.id} with fence {fence}: {what if done else 'refused'}")
            return done

        return self._place.reach(self._process, f"commit {after.id}", act)

    def deliver(self, message: AgentMessage, root: str, call: CallRef | None = None) -> Delivered:
        def act() -> Delivered:
            became = self._inner.deliver(message, root, call)
            self._note(f"delivers {message.message_id} of {message.sender_id}: {became.refused or became.to}")
            self._place.invariants.post.delivered(message, root, became)
            return became

        return self._place.reach(self._process, f"deliver for {message.sender_id}", act)

    def subscribe(self, conversation_id: str, pattern: str, root: str, call: CallRef | None = None) -> Delivered:
        def act() -> Delivered:
            became = self._inner.subscribe(conversation_id, pattern, root, call)
            self._note(f"subscribes {conversation_id} to {pattern}: {became.refused or 'done'}")
            self._place.invariants.post.subscribed(conversation_id, pattern, became)
            return became

        return self._place.reach(self._process, f"subscribe {conversation_id}", act)

    def states(self, conversation_ids: Sequence[str]) -> dict[str, Status]:
        return self._place.reach(self._process, "read states", partial(self._inner.states, conversation_ids))

    def awake_s(self) -> float:
        return self._inner.awake_s()

    def release_calls(self, rooms: Rooms) -> tuple[str, ...]:
        return self._place.reach(self._process, "release calls", partial(self._inner.release_calls, rooms))

    def calls(self, call_ids: Sequence[str]) -> list[tuple[Conversation, ToolRun]]:
        return self._place.reach(self._process, "load calls", partial(self._inner.calls, call_ids))

    def renew(self, conversation_id: str, fence: int) -> bool:
        write = partial(self._inner.renew, conversation_id, fence)
        act = partial(self._place.invariants.written, conversation_id, fence, write, lets_go=lambda _: False)
        return self._place.reach(self._process, f"renew {conversation_id}", act)

    def release(self, conversation_id: str, fence: int) -> None:
        def write() -> bool:
            self._inner.release(conversation_id, fence)
            return record.holder == fence

        record = self._place.invariants.records[conversation_id]
        act = partial(self._place.invariants.written, conversation_id, fence, write, lets_go=lambda _: True)
        self._place.reach(self._process, f"release {conversation_id}", act)

    def wait(self, seconds: float) -> None:
        place, world = self._place, self._place.world
        if place.down:
            raise redis.ConnectionError("redis is gone")
        store = place.store
        if not store.bells:
            me = world.running
            assert me is not None
            store.listening.append(me)
            world.sleep(max(DEAF_S, seconds))
            if me in store.listening:
                store.listening.remove(me)
        store.bells = max(0, store.bells - 1)

    def _note(self, what: str) -> None:
        self._place.world.note(self._process.name, what)


class SimulatedModel:
    """Thinks in the world's time, and says what was written whoever asks."""

    def __init__(self, orchestrator: "Orchestrator", spec: ConversationSpec) -> None:
        self._orchestrator, self._spec = orchestrator, spec

    def reply(self, request: ModelRequest, hear: Hear = deaf) -> ModelReply | Problem:
        place, process = self._orchestrator.place, self._orchestrator.process
        world, weather = place.world, place.weather
        turn = 1 + sum(message.role == "assistant" for message in request.messages)
        fence = self._orchestrator.fence_here()
        place.trouble(process, f"before it can ask the model of {self._spec.id}")
        place.invariants.asked(self._spec.id, turn, fence)
        world.note(process.name, f"asks the model of {self._spec.id} for turn {turn}")
        hangs = world.chance(weather.model_hangs)
        think_s = world.random.uniform(20, 120) if world.chance(weather.model_slow) else world.random.uniform(0, 2)
        if hangs:
            world.sleep(min(request.timeout_s, 300.0))
        else:
            world.sleep(min(request.timeout_s, think_s))
        place.trouble(process, f"after the model of {self._spec.id} replied")
        return written_reply(self._spec, request.messages)


class Orchestrator:
    """Until it dies, or is told to go: then it hands back what it holds."""

    def __init__(self, place: Place, name: str, ledger: Callable[[Any], MemoryLedger], driver: type[Driver]) -> None:
        self.place, self.process = place, Process(place.world, name)
        inner = ledger(place.store)
        started = place.world.now + place.world.random.uniform(-3600, 3600)
        self._leaving = False
        self._fences: dict[Fibre, int] = {}
        self._ledger: Ledger = SimulatedLedger(place, self.process, inner)

        def clock() -> float:
            return place.world.now - started

        asking = Asking(partial(SimulatedModel, self), clock=clock, states=self._ledger.states)
        self.driver = driver(self._ledger, asking, self, slots=place.slots, clock=clock, parallel_calls=PARALLEL)
        self.driver.make_room()
        self.process.spawn(self._run)
        self.process.spawn(self._keep_leases)

    def send(self, conversation: Conversation, run: ToolRun) -> None:
        """The port to the tool queue: a broker that is gone swallows the hint."""
        self.place.trouble(self.process, f"before it can send {run.ref.task_id}")
        if self.place.down:
            return
        self.place.world.note(self.process.name, f"sends {run.ref.task_id}")
        self.place.queue.put(conversation, run)
        self.place.trouble(self.process, f"after it sent {run.ref.task_id}")

    def route(self, conversation: Conversation, run: ToolRun) -> str:
        return self.place.route_of(run.request) or (run.route if self.place.routed else "")

    def queue_empty(self, route: str) -> bool:
        return self.place.reach(self.process, "look at the queue", lambda: not self.place.queue.waiting[route])

    def rooms(self, call_s: float) -> Rooms:
        return self.place.rooms()

    def why_not(self, conversation: Conversation, run: ToolRun) -> str:
        return ""

    def fence_here(self) -> int:
        """Of the slot that runs."""
        assert self.place.world.running is not None
        return self._fences[self.place.world.running]

    def leave(self) -> None:
        self.place.world.note(self.process.name, "is told to go")
        self._leaving = True

    def _run(self) -> None:
        """What the driver's own `run` does, with fibres for its threads."""
        while not self._leaving:
            began = self.place.world.now
            claim = self.driver.take(0.0)
            if claim is not None:
                self.process.spawn(partial(self._serve, claim))
            if self.place.world.now == began:
                self.place.world.sleep(IDLE_S if self.place.down else DEAF_S)
        self.driver.hand_back()
        self.process.die("has handed back what it held")

    def _serve(self, claim: Claim) -> None:
        assert self.place.world.running is not None
        self._fences[self.place.world.running] = claim.fence
        self.driver.serve(claim)

    def _keep_leases(self) -> None:
        while True:
            self.place.world.sleep(LEASE_S / 3)
            self.driver.renew_leases()
            self.driver.make_room()
