"""The ledger in memory, both sides of it: the twin of the one in redis, with a clock that can be set."""

import json
from collections.abc import Sequence

from skillfleet_workers.wire.contract import CallRef
from skillfleet_workers.wire.keys import LIVE_ENDED_S

from ..events import Told, opening
from .ledger import (
    FORMAT,
    LEASE_S,
    LEFT_ALONE_S,
    MAX_DEAD,
    Accepted,
    Claim,
    DecidedAs,
    LiveWords,
    Nothing,
    Written,
)
from .memory_children import ask_to_end, begin_child, end_family
from .memory_control import decide, pause, resume
from .memory_kept import KeptInMemory
from .memory_mail import MailInMemory, end_mail, unexpired_mail
from .memory_places import UNKNOWN, heal, release, send, vacate
from .memory_store import Kept, MemoryStore
from .models import Conversation, ConversationSpec
from .runs import Decision, ToolRun
from .schedule import LEAST_ROOMS, RESEND_AFTER_S, Rooms

__all__ = ["MemoryLedger", "MemoryStore"]


class MemoryLedger(KeptInMemory, MailInMemory):
    """The orchestrator's side."""

    def __init__(
        self, store: MemoryStore, *, ttl_s: float = 7 * 86400, tenant_slots: int = 0, lease_s: float = LEASE_S
    ) -> None:
        self._store, self._ttl_s, self._tenant_slots, self._lease_s = store, ttl_s, tenant_slots, lease_s

    def submit(self, *specs: ConversationSpec) -> list[Accepted]:
        with self._store.changed:
            return [self._submit(spec) for spec in specs]

    def _submit(self, spec: ConversationSpec) -> Accepted:
        store = self._store
        known = store.holder(spec)
        if known is not None:
            return Accepted(known.position.id, known.position.spec.created_at)
        parent = begin_child(store, spec) if spec.parent_call else None
        if spec.parent_call and parent is None:
            return Accepted("", 0.0)
        spec = spec.model_copy(update={"created_at": store.clock()})
        kept = store.keep(Conversation.begun(spec).model_copy(update={"messages": ()}))
        if parent is not None and parent.pause is not None:
            kept.pause, kept.paused_with = store.clock(), True
        self._tell(kept, opening(kept.position))
        store.ring(spec.id)
        return Accepted(spec.id, spec.created_at)

    def claim(self, only: str | None = None, rooms: Rooms = LEAST_ROOMS) -> Claim | Nothing:
        store = self._store
        with store.changed:
            now = store.clock()
            timers = store.due if only is None else {only} & store.due.keys()
            for name in [name for name in timers if store.due[name] <= now]:
                store.wake(name)
            taken = self._taken(only)
            idle_s = 0.0
            if only is None and not any(store.ready.members.values()):
                store.bells = 0
                idle_s = max(0.0, min(store.due.values(), default=now + self._lease_s) - now)
            kept = store.find(taken or "")
            if kept is None:
                waits = [store.due[timer] - now for timer in store.due if only in (None, timer)]
                wait_s = 0.0 if taken else max(0.0, min(waits)) if waits else None
                return Nothing(wait_s, tuple(release(store, rooms)))
            if kept.format > FORMAT:
                store.due[kept.position.id] = now + LEFT_ALONE_S
                return Nothing(0.0)
            store.due[kept.position.id] = now + self._lease_s
            if not kept.ended(now):
                self._hold(kept)
            kept.fence += 1
            kept.held = kept.fence
            routes = [] if kept.all_in() else heal(store, kept)
            released = tuple(release(store, rooms))
            return Claim(
                kept.conversation(), kept.fence, now, kept.cancel, dict(kept.calls), kept.pause is not None,
                {route: store.places[route].mark for route in routes}, released, idle_s,
                unexpired_mail(store, kept) if kept.position.listening else (),
            )  # fmt: skip

    def _taken(self, only: str | None) -> str | None:
        store = self._store
        if only is not None:
            kept = store.find(only)
            return only if kept and store.not_ready(kept) else None
        return store.ready.take(self._may)

    def _may(self, tenant: str) -> bool:
        leases = self._store.held.get(tenant, {}).values()
        return not self._tenant_slots or sum(at > self._store.clock() for at in leases) < self._tenant_slots

    def _hold(self, kept: Kept) -> None:
        held = self._store.held.setdefault(kept.position.spec.tenant, {})
        held[kept.position.id] = self._store.clock() + self._lease_s

    def _let_go(self, kept: Kept) -> None:
        kept.fence += 1
        tenant = kept.position.spec.tenant
        self._store.held.get(tenant, {}).pop(kept.position.id, None)
        if self._tenant_slots and self._store.ready.members.get(tenant):
            self._store.ring_bell()

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
        store = self._store
        with store.changed:
            kept = self._held(after.id, fence)
            if kept is None:
                return None
            if any(kept.has_come(run) for run in after.given_up):
                store.ring(after.id)
                self._let_go(kept)
                return None
            turned = not after.ending and (kept.pause is not None) != (after.status == "paused")
            if after.terminal or after.ending:
                store.call_off(kept)
                kept.cancel |= bool(after.ending)
            before = kept.position
            counted = {"paused_s": before.paused_s, "dropped": before.dropped}
            kept.position = after.model_copy(update={"messages": (), **counted})
            for place in taken:
                kept.mailbox.pop(place, None)
            if kept.mailbox and not {run.key for run in after.listening} <= {run.key for run in before.listening}:
                kept.news = fence
            self._tell(kept, told)
            store.bury(after, MAX_DEAD)
            released = self._send(kept, before, sends, rooms)
            end_family(store, before, kept)
            return self._next_look(kept, fence, due, turned, released)

    def _send(self, kept: Kept, before: Conversation, sends: Sequence[ToolRun], rooms: Rooms) -> list[str]:
        store, after = self._store, kept.position
        for run in before.with_workers:
            if after.status == "paused" or not kept.is_out(run.key):
                vacate(store, kept, run.ref)
        released = [run.ref.call_id for run in sends if send(store, kept, run, rooms)]
        return released + release(store, rooms, own=after.id)

    def _next_look(
        self, kept: Kept, fence: int, due: float | None, turned: bool, released: list[str]
    ) -> Written | None:
        store, after = self._store, kept.position
        if after.terminal:
            store.due.pop(after.id, None)
            store.not_ready(kept)
            kept.expires_at = store.clock() + self._ttl_s
            kept.live_until = min(kept.live_until, store.clock() + LIVE_ENDED_S)
            end_mail(store, kept)
        elif due is not None:
            bound_to_end = kept.ended(store.clock()) and not after.ending
            if turned or kept.news == fence or bound_to_end or kept.all_in():
                store.ring(after.id)
            else:
                own = any(CallRef.of_call(call).conversation_id == after.id for call in released)
                store.not_ready(kept)
                store.due[after.id] = min(due, store.clock() + RESEND_AFTER_S) if own else due
        elif turned:
            store.ring(after.id)
            self._let_go(kept)
            return None
        if after.terminal or due is not None:
            self._let_go(kept)
        return Written(tuple(released))

    def release_calls(self, rooms: Rooms) -> tuple[str, ...]:
        with self._store.changed:
            return tuple(release(self._store, rooms))

    def renew(self, conversation_id: str, fence: int) -> bool:
        with self._store.changed:
            kept = self._held(conversation_id, fence)
            if kept is None or kept.ended(self._store.clock()):
                return False
            if conversation_id in self._store.due:
                self._store.due[conversation_id] = self._store.clock() + self._lease_s
            self._hold(kept)
            return True

    def release(self, conversation_id: str, fence: int) -> None:
        with self._store.changed:
            kept = self._held(conversation_id, fence)
            if kept is not None:
                self._store.ring(conversation_id)
                self._let_go(kept)

    def cancel(self, conversation_id: str) -> bool:
        with self._store.changed:
            kept = self._store.find(conversation_id)
            if kept is None:
                raise KeyError(conversation_id)
            return ask_to_end(self._store, kept)

    def pause(self, conversation_id: str) -> bool:
        store = self._store
        with store.changed:
            kept = self._open(conversation_id)
            if kept is not None:
                pause(store, kept)
            return kept is not None

    def resume(self, conversation_id: str) -> bool:
        store = self._store
        with store.changed:
            kept = self._open(conversation_id)
            if kept is not None:
                resume(store, kept)
            return kept is not None

    def decide(self, conversation_id: str, key: str, decision: Decision) -> DecidedAs:
        with self._store.changed:
            kept = self._store.find(conversation_id)
            if kept is None:
                raise KeyError(conversation_id)
            return decide(self._store, kept, key, decision)

    def tell_live(self, *words: LiveWords) -> list[bool]:
        with self._store.changed:
            return [self._store.tell_words(one.told, self._held(one.conversation_id, one.fence)) for one in words]

    def awake_s(self) -> float:
        return self._store.clock() - self._store.awake_since

    def wait(self, seconds: float) -> None:
        store = self._store
        with store.changed:
            if store.changed.wait_for(lambda: store.bells, timeout=seconds):
                store.bells -= 1

    def _open(self, conversation_id: str) -> Kept | None:
        """None when it has ended, or is bound to."""
        kept = self._store.find(conversation_id)
        if kept is None:
            raise KeyError(conversation_id)
        return None if kept.ended(self._store.clock()) else kept

    def _held(self, conversation_id: str, fence: int) -> Kept | None:
        kept = self._store.find(conversation_id)
        return kept if kept and kept.fence == fence else None

    def _tell(self, kept: Kept, told: Sequence[Told]) -> None:
        for kind, text in told:
            data = json.loads(text)
            # Of a child that is left, its end was told when it came.
            if kind != "child" or kept.calls.get(data["key"], UNKNOWN).child is None:
                self._store.tell(kept, kind, data)
