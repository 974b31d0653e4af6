"""What the ledger in memory keeps of conversations, read and not moved."""

from collections.abc import Sequence

from skillfleet_workers.wire.contract import CallRef

from ..events import Entry, in_order
from .ledger import MAX_DEAD, DeadCall, dead_call, out_calls
from .memory_store import MemoryStore
from .models import Conversation, Status
from .runs import ToolRun
from .stored import as_sent_from


class KeptInMemory:
    _store: MemoryStore

    def calls(self, call_ids: Sequence[str]) -> list[tuple[Conversation, ToolRun]]:
        refs = [CallRef.of_call(call_id) for call_id in call_ids]
        with self._store.changed:
            found = {ref.conversation_id: self._store.find(ref.conversation_id) for ref in refs}
            kept = {name: as_sent_from(one.position, refs) for name, one in found.items() if one}
            return out_calls(kept, call_ids)

    def load(self, conversation_id: str) -> Conversation | None:
        with self._store.changed:
            kept = self._store.find(conversation_id)
            return kept.conversation() if kept else None

    def newest(self, limit: int, skip: int = 0) -> list[Conversation]:
        with self._store.changed:
            kept = [self._store.find(name) for name in reversed(self._store.names())]
            return [one.position for one in kept if one][skip : skip + limit]

    def dead(self, limit: int) -> list[DeadCall]:
        store = self._store
        with store.changed:
            kept = {name: one.position for name in store.names() if (one := store.find(name))}
            newest = sorted(store.dead.items(), key=lambda item: item[1], reverse=True)[:limit]
            return [found for call_id, at in newest if (found := dead_call(kept, call_id, at))]

    def find_dead(self, call_id: str) -> DeadCall | None:
        return next((call for call in self.dead(MAX_DEAD) if call.run.ref.call_id == call_id), None)

    def states(self, conversation_ids: Sequence[str]) -> dict[str, Status]:
        with self._store.changed:
            kept = {name: self._store.find(name) for name in conversation_ids}
            return {name: one.position.status for name, one in kept.items() if one}

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
