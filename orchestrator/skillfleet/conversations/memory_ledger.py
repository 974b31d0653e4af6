"""The ledger in memory, both sides of it: the twin of the one in redis, with a clock that can be set."""

import json
from collections.abc import Sequence

from ..events import Entry, LiveTold, Told, in_order, opening
from .ledger import FORMAT, LEASE_S, LEFT_ALONE_S, MAX_DEAD, Accepted, Claim, DeadCall, Nothing, dead_call
from .memory_store import Kept, MemoryStore
from .models import Conversation, ConversationSpec

__all__ = ["MemoryLedger", "MemoryStore"]


class MemoryLedger:
    """The orchestrator's side."""

    def __init__(self, store: MemoryStore, *, ttl_s: float = 7 * 86400) -> None:
        self._store, self._ttl_s = store, ttl_s

    def submit(self, *specs: ConversationSpec) -> list[Accepted]:
        with self._store.changed:
            return [self._submit(spec) for spec in specs]

    def _submit(self, spec: ConversationSpec) -> Accepted:
        store = self._store
        known = store.holder(spec)
        if known is not None:
            return Accepted(known.position.id, known.position.spec.created_at)
        spec = spec.model_copy(update={"created_at": store.clock()})
        kept = store.keep(Conversation.begun(spec).model_copy(update={"messages": ()}))
        self._tell(kept, opening(kept.position))
        store.ring(spec.id)
        return Accepted(spec.id, spec.created_at)

    def claim(self, only: str | None = None) -> Claim | Nothing:
        store = self._store
        with store.changed:
            now = store.clock()
            waiting = [(at, name) for name, at in store.due.items() if only in (None, name)]
            if not waiting:
                return Nothing(None)
            at, name = min(waiting)
            if at > now:
                return Nothing(at - now)
            kept = store.find(name)
            if kept is None:
                del store.due[name]
                return Nothing(0.0)
            if kept.format > FORMAT:
                store.due[name] = now + LEFT_ALONE_S
                return Nothing(0.0)
            store.due[name] = now + LEASE_S
            kept.fence += 1
            return Claim(kept.conversation(), kept.fence, now, kept.cancel, dict(kept.calls), kept.pause is not None)

    def commit(self, fence: int, after: Conversation, told: Sequence[Told], due: float | None) -> bool:
        store = self._store
        with store.changed:
            kept = self._held(after.id, fence)
            if kept is None:
                return False
            if any(key in kept.calls and kept.calls[key].result for key in after.given_up):
                store.ring(after.id)
                kept.fence += 1
                return False
            news = (kept.pause is not None) != (after.status == "paused")
            if after.terminal:
                store.call_off(kept)
            counted = {"paused_s": kept.position.paused_s, "dropped": kept.position.dropped}
            kept.position = after.model_copy(update={"messages": (), **counted})
            self._tell(kept, told)
            store.bury(after, MAX_DEAD)
            if after.terminal:
                store.due.pop(after.id, None)
                kept.expires_at = store.clock() + self._ttl_s
            elif due is not None:
                store.due[after.id] = due
                if news or kept.news == fence or kept.ended(store.clock()) or kept.all_in():
                    store.ring(after.id)
            elif news:
                store.ring(after.id)
                kept.fence += 1
                return False
            if after.terminal or due is not None:
                kept.fence += 1
            return True

    def renew(self, conversation_id: str, fence: int) -> bool:
        with self._store.changed:
            kept = self._held(conversation_id, fence)
            if kept is None or kept.ended(self._store.clock()):
                return False
            self._store.due[conversation_id] = self._store.clock() + LEASE_S
            return True

    def release(self, conversation_id: str, fence: int) -> None:
        with self._store.changed:
            kept = self._held(conversation_id, fence)
            if kept is not None:
                kept.fence += 1
                self._store.ring(conversation_id)

    def cancel(self, conversation_id: str) -> bool:
        with self._store.changed:
            kept = self._store.find(conversation_id)
            if kept is None:
                raise KeyError(conversation_id)
            if kept.position.terminal:
                return False
            kept.cancel = True
            self._store.call_off(kept)
            self._store.ring(conversation_id)
            return True

    def pause(self, conversation_id: str) -> bool:
        store = self._store
        with store.changed:
            kept = self._open(conversation_id)
            if kept is not None and kept.pause is None:
                kept.pause = store.clock()
                if kept.position.status != "running" or kept.position.out:
                    store.ring(conversation_id)
            return kept is not None

    def resume(self, conversation_id: str) -> bool:
        store = self._store
        with store.changed:
            kept = self._open(conversation_id)
            if kept is not None and kept.pause is not None:
                paused_s = kept.position.paused_s + store.clock() - kept.pause
                kept.position = kept.position.model_copy(update={"paused_s": paused_s})
                kept.pause = None
                store.ring(conversation_id)
            return kept is not None

    def load(self, conversation_id: str) -> Conversation | None:
        with self._store.changed:
            kept = self._store.find(conversation_id)
            return kept.conversation() if kept else None

    def newest(self, limit: int) -> list[Conversation]:
        with self._store.changed:
            kept = [self._store.find(name) for name in reversed(self._store.names())]
            return [one.position for one in kept if one][:limit]

    def dead(self, limit: int) -> list[DeadCall]:
        store = self._store
        with store.changed:
            kept = {name: one.position for name in store.names() if (one := store.find(name))}
            newest = sorted(store.dead.items(), key=lambda item: item[1], reverse=True)[:limit]
            return [found for call_id, at in newest if (found := dead_call(kept, call_id, at))]

    def find_dead(self, call_id: str) -> DeadCall | None:
        return next((call for call in self.dead(MAX_DEAD) if call.run.ref.call_id == call_id), None)

    def tell_live(self, conversation_id: str, fence: int, told: Sequence[LiveTold]) -> bool:
        with self._store.changed:
            kept = self._held(conversation_id, fence)
            if kept is None or kept.ended(self._store.clock()):
                return False
            for kind, data in told:
                self._store.tell_live(kept, kind, json.loads(data))
            return True

    def entries(self, conversation_id: str, after: str, wait_s: float, live: str | None = None) -> list[Entry]:
        def found() -> list[Entry]:
            kept = self._store.find(conversation_id)
            if kept is None:
                return []
            told = [] if live is None else self._store.live(kept, int(live))
            return in_order(kept.entries[int(after) :], told)

        with self._store.changed:
            self._store.changed.wait_for(found, timeout=wait_s)
            return found()

    def ended(self, conversation_id: str, wait_s: float) -> bool:
        def has() -> bool:
            kept = self._store.find(conversation_id)
            return bool(kept and kept.entries and kept.entries[-1].type == "ended")

        with self._store.changed:
            return self._store.changed.wait_for(has, timeout=wait_s)

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
        for kind, data in told:
            self._store.tell(kept, kind, json.loads(data))
