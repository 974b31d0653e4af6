"""The driver and the ledger as a state machine: Hypothesis chooses who does what next, and shrinks what breaks."""

import logging
import math
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from tests.simulation.chains import status_for
from tests.simulation.invariants import Invariants
from tests.simulation.orchestrators import SimulatedLedger
from tests.simulation.persons import say
from tests.simulation.place import BellStore, Place
from tests.simulation.run import TROUBLE_S
from tests.simulation.stories import (
    PARALLEL,
    poisonous,
    shown_for,
    tell_story,
    told_effects,
    told_governing,
    written_reply,
)
from tests.simulation.weather import Weather
from tests.simulation.world import Process, World

from skillfleet.conversations.asking import Asking
from skillfleet.conversations.driver import Driver
from skillfleet.conversations.ledger import LEASE_S, Claim
from skillfleet.conversations.limits import Problem
from skillfleet.conversations.memory_calls import MemoryCallLedger
from skillfleet.conversations.memory_ledger import MemoryLedger
from skillfleet.conversations.models import Conversation, ConversationSpec
from skillfleet.conversations.runs import ToolRun
from skillfleet.conversations.schedule import LOST_AFTER_S, RESEND_AFTER_S, Rooms
from skillfleet.llm.base import Hear, ModelReply, ModelRequest, deaf
from skillfleet_workers.wire.calls import CallResult
from skillfleet_workers.wire.contract import CallMessage, CallRef

ROOM = 2
ROUNDS = 100
"""More than it takes when everybody does their part."""


class DeafLedger(SimulatedLedger):
    def wait(self, seconds: float) -> None:
        self._place.store.bells = 0


class Writer:
    def __init__(self, spec: ConversationSpec) -> None:
        self._spec = spec

    def reply(self, request: ModelRequest, hear: Hear = deaf) -> ModelReply | Problem:
        return written_reply(self._spec, request.messages)


class Machine(RuleBasedStateMachine):
    """Claims are served late or never, hints are taken in any order, twice or never, results come at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(0)
        store = BellStore(self.world)
        self.place = Place(self.world, Weather(), store, Invariants(store, ROOM), room=ROOM)
        self.ledger, self.calls = MemoryLedger(store), MemoryCallLedger(store)
        doored = DeafLedger(self.place, Process(self.world, "o"), MemoryLedger(store))
        clock = self.world.clock
        asking = Asking(Writer, clock=clock)
        self.driver = Driver(doored, asking, self, slots=1000, clock=clock, parallel_calls=PARALLEL)
        self.driver.make_room()
        self.taken: list[Claim] = []
        self.hints: list[CallMessage] = []
        self.running: dict[CallRef, CallMessage] = {}
        self.names: list[str] = []

    def send(self, conversation: Conversation, run: ToolRun) -> None:
        self.hints.append(CallMessage(ref=run.ref, request=run.request))

    def route(self, conversation: Conversation, run: ToolRun) -> str:
        return self.place.route_of(run.request)

    def queue_empty(self, route: str) -> bool:
        return not self.hints

    def rooms(self, call_s: float) -> Rooms:
        return self.place.rooms()

    def why_not(self, conversation: Conversation, run: ToolRun) -> str:
        return ""

    @rule(seed=st.integers(0, 10_000))
    @precondition(lambda self: len(self.names) < 3)
    def submit(self, seed: int) -> None:
        spec = tell_story(len(self.names), Random(seed), TROUBLE_S).spec
        self.ledger.submit(spec)
        self.names.append(spec.id)
        self.place.invariants.accepted(spec.id)

    @rule()
    def take(self) -> None:
        claim = self.driver.take(0.0)
        if claim is not None:
            self.taken.append(claim)

    @rule(data=st.data())
    @precondition(lambda self: self.taken)
    def serve(self, data: st.DataObject) -> None:
        self.driver.serve(self.taken.pop(data.draw(st.integers(0, len(self.taken) - 1))))

    @rule(data=st.data(), leaves_copy=st.booleans())
    @precondition(lambda self: self.hints)
    def start(self, data: st.DataObject, leaves_copy: bool) -> None:
        message = self.hints.pop(data.draw(st.integers(0, len(self.hints) - 1)))
        if leaves_copy:
            self.hints.append(message)
        self._start(message)

    @rule(data=st.data(), dies=st.booleans())
    @precondition(lambda self: self.running)
    def finish(self, data: st.DataObject, dies: bool) -> None:
        ref = data.draw(st.sampled_from(list(self.running)))
        message = self.running.pop(ref)
        if not dies:
            self._finish(message)

    @rule()
    def beat(self) -> None:
        for ref in self.calls.beat(self.running):
            del self.running[ref]

    @rule(seconds=st.sampled_from([0.5, RESEND_AFTER_S, LOST_AFTER_S, LEASE_S]), keeps=st.booleans())
    def time_passes(self, seconds: float, keeps: bool) -> None:
        self.world.now += seconds
        if keeps:
            self.driver.renew_leases()

    @rule(routed=st.booleans(), servers=st.integers(0, 1))
    def workers_change(self, routed: bool, servers: int) -> None:
        self.place.routed, self.place.servers = routed, lambda: servers
        self.driver.make_room()

    @rule()
    def broker_is_flushed(self) -> None:
        self.hints.clear()

    @rule(data=st.data(), verb=st.sampled_from(["cancel", "pause", "resume"]))
    @precondition(lambda self: self.names)
    def ask(self, data: st.DataObject, verb: str) -> None:
        """Of children too."""
        records = self.place.invariants.records
        name = data.draw(st.sampled_from(list(records)))
        asked = getattr(self.ledger, verb)(name)
        if verb == "cancel":
            records[name].cancelled |= asked
        elif asked:
            (records[name].paused if verb == "pause" else records[name].resumed)(self.world.now)

    @rule(data=st.data())
    @precondition(lambda self: self._asking())
    def decide(self, data: st.DataObject) -> None:
        """Perhaps late, or of one that has ended meanwhile."""
        say(self.ledger, *data.draw(st.sampled_from(self._asking())))

    @invariant()
    def holds(self) -> None:
        """Of children too."""
        for name in self.place.invariants.records:
            self.place.invariants.look(name)

    def teardown(self) -> None:
        """Now everybody does their part."""
        self.workers_change(True, 1)
        for name in self.place.invariants.records:
            self.ledger.resume(name)
            self.place.invariants.records[name].resumed(self.world.now)
        for _ in range(ROUNDS):
            self._round()
        for name in self.place.invariants.records:
            ended = self.ledger.load(name)
            assert ended is not None
            self.place.invariants.at_end(name, ended, self.ledger.entries(name, "0", 0), disturbances=math.inf)
        self.world.threads.shutdown()

    def _round(self) -> None:
        while (claim := self.driver.take(0.0)) is not None:
            self.driver.serve(claim)
        for message in self.hints:
            self._start(message)
        self.hints.clear()
        for asked in self._asking():
            say(self.ledger, *asked)
        for ref in list(self.running):
            self._finish(self.running.pop(ref))
        self.holds()
        self.world.now += 5.0

    def _asking(self) -> list[tuple[Conversation, ToolRun]]:
        found = map(self.place.store.find, self.place.invariants.records)
        return [(kept.position, run) for kept in found if kept for run in kept.position.with_persons]

    def _finish(self, message: CallMessage) -> None:
        shown, governing = shown_for(message.ref, message.request), told_governing(message.request)
        done = CallResult(status=status_for(message.request), shown=shown, worker="w", governing=governing)
        self.calls.commit(message.ref, done)

    def _position(self, ref: CallRef) -> tuple[ToolRun, ...]:
        kept = self.place.store.find(ref.conversation_id)
        assert kept is not None
        return kept.position.runs

    def _start(self, message: CallMessage) -> None:
        if self.calls.claim(message.ref, "w", told_effects(message.request)) != "claimed":
            return
        run = next(run for run in self._position(message.ref) if run.key == message.ref.key)
        self.place.invariants.began(message.ref, told_effects(message.request) or run.task.effects)
        if not poisonous(message.request):
            self.running[message.ref] = message


@pytest.fixture(autouse=True, scope="module")
def quietly() -> Iterator[None]:
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


def test_whoever_does_what_in_whatever_order_the_invariants_hold() -> None:
    run_state_machine_as_test(Machine, settings=settings(max_examples=60, stateful_step_count=40, deadline=None))
