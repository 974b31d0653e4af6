"""The driver: claims what is due, steps, commits, performs the effects, lets go. It never waits for a tool."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace

import redis

from skillfleet_workers.wire.keys import LONGEST_SLEEP_MS

from ..events import changes
from ..settings import PARALLEL_CALLS
from .asking import Asking
from .children import start_children
from .ending import pending
from .engine import step, wanted
from .ledger import Claim, Ledger
from .models import Conversation
from .moves import CallModel, Effect, RunTool, TakeMail
from .posting import post
from .schedule import QUEUE_TIMEOUT_S, RECOVERY_S, Sight, lease_s, lost_after_s, next_due, observe
from .sending import LOOK_S, Calls, Sending
from .telling import Telling

ENDING_LOOK_S = 0.05
IDLE_S = LONGEST_SLEEP_MS / 1000
"""Longest wait between two looks at what is due; the doorbell makes it immediate."""

log = logging.getLogger(__name__)


class Driver:
    """N slots over one ledger. `only`: serve these conversations and nothing else; the set may grow, and ids leave
    it when nothing is due of them any more. `grace_s`: how long replies may still come in after `stop`."""

    def __init__(
        self,
        ledger: Ledger,
        asking: Asking,
        calls: Calls,
        *,
        slots: int,
        only: set[str] | None = None,
        grace_s: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
        recovery_s: float = RECOVERY_S,
        queue_timeout_s: float = QUEUE_TIMEOUT_S,
        parallel_calls: int = PARALLEL_CALLS,
    ) -> None:
        self._ledger, self._asking, self._only, self._parallel = ledger, asking, only, parallel_calls
        self._sending, self._telling = Sending(ledger, calls, clock), Telling(ledger)
        self._grace_s, self._clock = grace_s, clock
        self._recovery_s, self._queue_timeout_s = recovery_s, queue_timeout_s
        self._free = threading.Semaphore(slots)
        self._held: set[tuple[str, int]] = set()
        """Conversations that hold a slot, each with its fence."""
        self._held_lock = threading.Lock()
        self._broken_off: deque[tuple[str, int]] = deque()
        """Those that were in hand when redis was lost: handed back as soon as it is there again."""
        self._stop, self._hurried, self._over = threading.Event(), threading.Event(), threading.Event()
        self._idle_s, self._has_heard = 0.0, False
        self._listening_since: float | None = None
        """By our monotonic clock; None while redis cannot be reached."""

    def run(self) -> None:
        """Until `stop`; then hand back what is held when the grace time is over, so that others go on at once."""
        threading.Thread(target=self._keep_leases, name="leases", daemon=True).start()
        while not self._stop.is_set():
            claim = self.take(IDLE_S)
            if claim is not None:
                threading.Thread(target=self.serve, args=(claim,), daemon=True).start()
            elif self._listening_since is None:
                self._stop.wait(IDLE_S)
        give_up = self._clock() + self._grace_s
        while self._all_held() and self._clock() < give_up and not self._hurried.wait(ENDING_LOOK_S):
            pass
        self._telling.stop()
        self.hand_back()
        self._over.set()

    def stop(self) -> None:
        """Claim nothing any more, ask no model; the second time: do not wait for replies either."""
        if self._stop.is_set():
            self._hurried.set()
        self._stop.set()

    def take(self, patience_s: float) -> Claim | None:
        """A conversation that is due, in a slot that is free within `patience_s`; it is served next."""
        free = self._free.acquire(timeout=patience_s)
        try:
            if free:
                claim = self._next_claim()
            else:
                claim = None
                self._sending.send_waiting()
        except redis.RedisError as error:
            log.warning("cannot reach redis: %s", error)
            self._listening_since = None
            claim = None
        if claim is None:
            if free:
                self._free.release()
            return None
        with self._held_lock:
            self._held.add((claim.conversation.id, claim.fence))
        return claim

    def _next_claim(self) -> Claim | None:
        if self._idle_s:
            idle_s, self._idle_s = self._idle_s, 0.0
            self._ledger.wait(min(IDLE_S, idle_s))
            self._heard()
        wait_s = IDLE_S
        for name in [None] if self._only is None else tuple(self._only):
            found = self._ledger.claim(name, self._sending.rooms)
            self._heard()
            if isinstance(found, Claim):
                self._idle_s = found.idle_s
                return found
            self._sending.send(found.released)
            if found.wait_s is not None:
                wait_s = min(wait_s, found.wait_s)
            elif self._only is not None and name is not None:
                self._only.discard(name)
        self._ledger.wait(wait_s)
        self._heard()
        return None

    def _heard(self) -> None:
        if self._listening_since is None:
            # Before our time others listened: whoever was silent then, while redis was there, was silent.
            earlier_s = 0.0 if self._has_heard else self._ledger.awake_s()
            self._listening_since, self._has_heard = self._clock() - earlier_s, True
        while self._broken_off:
            self._ledger.release(*self._broken_off[0])
            self._broken_off.popleft()

    def serve(self, claim: Claim) -> None:
        name = claim.conversation.id
        try:
            self._sending.send(claim.released, claim.conversation)
            self._advance(claim)
        except redis.RedisError as error:
            log.warning("conversation %s: %s; it is handed back as soon as redis is there", name, error)
            self._broken_off.append((name, claim.fence))
        finally:
            self._let_go(name, claim.fence)

    def _let_go(self, name: str, fence: int) -> None:
        """Free its slot, once: when it is served, or when its lease is lost, however long its model still thinks."""
        with self._held_lock:
            if (name, fence) not in self._held:
                return
            self._held.remove((name, fence))
        self._free.release()

    def _advance(self, claim: Claim) -> None:
        """One claim: what has happened, then as many model turns as follow without waiting for a tool."""
        began = self._clock()
        before = claim.conversation
        sight = Sight(
            claim.now,
            cancel=claim.cancel,
            pause=claim.pause,
            empty_queues=self._sending.empty_queues(claim),
            listening_since=claim.now - (began - (self._listening_since or began)),
            overtaken_at=claim.overtaken_at,
            unserved=self._sending.unserved(claim),
            lost_after_s=lost_after_s(self._recovery_s),
            snapshot=self._asking.snapshot_for(before),
            queue_timeout_s=self._queue_timeout_s,
            mailbox=claim.mailbox,
            listening=[run.key for run in before.out if run.listens],
        )
        events = observe(before, claim.records, sight)
        self._sending.note_pace(events)
        after, effects = before, []
        for event in events:
            after, more = step(after, event, claim.now, self._parallel)
            effects += more
        effects = self._startable(wanted(after, effects) or pending(after))
        while self._commit(claim, before, after, effects, began, sight) and _asks(effects):
            with self._telling.reply(after.id, claim.fence, after.turn + 1) as hear:
                event = self._asking.ask(after, claim.now + self._clock() - began, hear)
            before = after
            after, effects = step(after, event, claim.now + self._clock() - began, self._parallel)
            effects = self._startable(effects)

    def _startable(self, effects: list[Effect]) -> list[Effect]:
        """Who has to end asks no model any more: the conversation is let go, and another does."""
        stopping = self._stop.is_set()
        return [effect for effect in effects if not (stopping and isinstance(effect, CallModel))]

    def _commit(
        self,
        claim: Claim,
        before: Conversation,
        after: Conversation,
        effects: list[Effect],
        began: float,
        sight: Sight,
    ) -> bool:
        after, effects = self._sending.routed(after, effects)
        sight = replace(sight, now=claim.now + self._clock() - began)
        due = None if _asks(effects) else next_due(after, claim.records, sight)
        sends = [effect.run for effect in effects if isinstance(effect, RunTool)]
        told = changes(before, after, effects)
        taken = [mail.place for effect in effects if isinstance(effect, TakeMail) for mail in effect.mail]
        written = self._ledger.commit(claim.fence, after, told, due, sends, self._sending.rooms, taken)
        if written is None:
            log.info("conversation %s: another orchestrator has it, or it is to be paused", after.id)
            return False
        self._sending.send(written.released, after)
        start_children(self._ledger, after, effects, self._only)
        post(self._ledger, after, effects)
        return True

    def _keep_leases(self) -> None:
        self.make_room()
        while not self._over.wait(min(LOOK_S, lease_s(self._recovery_s) / 3)):
            self.renew_leases()
            self.make_room()

    def make_room(self) -> None:
        """As the workers have become more, or fewer."""
        try:
            self._sending.make_room()
        except redis.RedisError as error:
            log.warning("cannot see the workers: %s", error)

    def renew_leases(self) -> None:
        for name, fence in self._all_held():
            try:
                if not self._ledger.renew(name, fence):
                    self._let_go(name, fence)
            except redis.RedisError as error:
                log.warning("cannot renew the lease of %s: %s", name, error)

    def hand_back(self) -> None:
        for name, fence in self._all_held():
            try:
                self._ledger.release(name, fence)
            except redis.RedisError as error:
                log.warning("cannot hand back %s, nor the rest: %s; others have it when the lease ends", name, error)
                return

    def _all_held(self) -> list[tuple[str, int]]:
        with self._held_lock:
            return sorted(self._held)


def _asks(effects: list[Effect]) -> bool:
    return any(isinstance(effect, CallModel) for effect in effects)
