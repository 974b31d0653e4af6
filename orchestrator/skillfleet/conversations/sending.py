"""The sending side of a driver: which workers a call is for, and which calls are sent now."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from .ledger import Claim, Ledger
from .models import Conversation
from .moves import Effect, Event, RunTool, ToolFinished
from .runs import ToolRun
from .schedule import Rooms, Unserved, awaited_queues

SLOW_CALL_S = 1.0
"""How long calls are taken to last until some have been seen."""

LOOK_S = 3.0
"""Longest between two looks at who serves which route."""

BLIND_S = 10.0
"""After longer than this without one, redis was away or we stood still: who then seems gone may be about to say that
they live."""

PACE = 0.1
"""How much one call counts for the mean."""


class Calls(Protocol):
    """The port to the tool queues. Raises redis.RedisError, but for `send`."""

    def route(self, conversation: Conversation, run: ToolRun) -> str:
        """Which workers can run the call, as far as is known; empty: all. Where none can, the route that it has."""
        ...

    def send(self, conversation: Conversation, run: ToolRun) -> None:
        """Send a hint to those workers that `run.route` names; where the broker cannot take it, the ledger sees to it
        that it is sent again."""
        ...

    def queue_empty(self, route: str) -> bool: ...

    def rooms(self, call_s: float) -> Rooms:
        """As the live workers have slots, where a call takes about `call_s`."""
        ...

    def why_not(self, conversation: Conversation, run: ToolRun) -> str:
        """Why no live worker can run the call; empty: nobody has said."""
        ...


class Sending:
    """Safe to share between threads. Raises redis.RedisError."""

    def __init__(self, ledger: Ledger, calls: Calls, clock: Callable[[], float] = time.monotonic) -> None:
        self._ledger, self._calls, self._clock = ledger, calls, clock
        self.rooms = Rooms()
        self._call_s = SLOW_CALL_S
        self._served_at: dict[str, float] = {}
        """By our clock, when a worker was seen last that serves the route; of '' since when we look unbroken."""
        self._looked_at = -math.inf

    def make_room(self) -> None:
        """As the workers have become more, or fewer."""
        rooms, now = self._calls.rooms(self._call_s), self._clock()
        known = {"": now} if now - self._looked_at > BLIND_S else self._served_at
        self._served_at = known | dict.fromkeys(rooms.routes or (), now)
        self.rooms, self._looked_at = rooms, now

    def note_pace(self, events: Iterable[Event]) -> None:
        for event in events:
            if isinstance(event, ToolFinished):
                self._call_s += PACE * (event.ms / 1000 - self._call_s)

    def routed(self, conversation: Conversation, effects: list[Effect]) -> tuple[Conversation, list[Effect]]:
        """With the routes of the calls that are to be sent."""
        runs = [effect.run for effect in effects if isinstance(effect, RunTool)]
        routes = {run.key: self._calls.route(conversation, run) for run in runs}
        if all(routes[run.key] == run.route for run in runs):
            return conversation, effects
        routed = {run.key: run.model_copy(update={"route": routes[run.key]}) for run in runs}
        moved = conversation.model_copy(update={"runs": tuple(routed.get(run.key, run) for run in conversation.runs)})
        return moved, [RunTool(routed[one.run.key]) if isinstance(one, RunTool) else one for one in effects]

    def send(self, call_ids: Sequence[str], at_hand: Conversation | None = None) -> None:
        runs = {run.ref.call_id: run for run in at_hand.out} if at_hand else {}
        for call_id in call_ids:
            if at_hand and call_id in runs:
                self._calls.send(at_hand, runs[call_id])
        if others := [call_id for call_id in call_ids if call_id not in runs]:
            for conversation, run in self._ledger.calls(others):
                self._calls.send(conversation, run)

    def send_waiting(self) -> None:
        """Models may think for long in all slots, and workers wait for calls."""
        self.send(self._ledger.release_calls(self.rooms))

    def empty_queues(self, claim: Claim) -> set[str]:
        """Of those in which calls at hand wait for a worker, by route."""
        awaited = awaited_queues(claim.conversation, claim.records)
        return {route for route in awaited if self._calls.queue_empty(route)}

    def unserved(self, claim: Claim) -> dict[str, Unserved]:
        """The calls at hand whose route no live worker serves, by key."""
        served = self.rooms.routes
        out = () if served is None else claim.conversation.out
        return {run.key: self._unserved(claim, run) for run in out if run.route and run.route not in (served or {})}

    def _unserved(self, claim: Claim, run: ToolRun) -> Unserved:
        gone_s = self._clock() - self._served_at.get(run.route, self._served_at[""])
        moved = self._calls.route(claim.conversation, run) != run.route
        return Unserved(claim.now - gone_s, self._calls.why_not(claim.conversation, run), moved)
