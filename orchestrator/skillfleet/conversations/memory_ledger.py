"""The ledger in memory, both sides of it: the twin of the one in redis, with a clock that can be set."""

import json
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from skillfleet_workers.wire.calls import CallRecord, CallResult, Claimed, Committed
from skillfleet_workers.wire.contract import CallRef

from ..events import Entry, EntryType, Told, opening
from .ledger import LEASE_S, Claim, Nothing
from .messages import Message
from .models import Conversation, ConversationSpec

MAX_BELLS = 64
MAX_CALLED_OFF = 64


@dataclass(slots=True)
class _Kept:
    """One conversation. `position` is without messages: those stand in the stream."""

    position: Conversation
    fence: int = 0
    cancel: bool = False
    entries: list[Entry] = field(default_factory=list)
    calls: dict[str, CallRecord] = field(default_factory=dict)
    expires_at: float = math.inf

    def ended(self, now: float) -> bool:
        """Or bound to."""
        return self.cancel or self.position.terminal or now >= self.position.deadline

    def is_out(self, key: str) -> bool:
        return any(run.key == key for run in self.position.out)

    def all_in(self) -> bool:
        out = self.position.out
        return bool(out) and all(run.key in self.calls and self.calls[run.key].result for run in out)

    def conversation(self) -> Conversation:
        messages = tuple(Message.model_validate(entry.data) for entry in self.entries if entry.type == "message")
        return self.position.model_copy(update={"messages": messages})


class MemoryStore:
    """What redis is to the other ledger: the ledgers of both sides share one. `clock`: seconds since the epoch.

    Hold `changed` to read or write; it is notified of every entry and every ring of the doorbell.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.clock = clock
        self.changed = threading.Condition()
        self.due: dict[str, float] = {}
        self.bells = 0
        self.called_off: deque[str] = deque(maxlen=MAX_CALLED_OFF)
        """What went over the control channel, the newest last."""
        self._kept: dict[str, _Kept] = {}

    def keep(self, position: Conversation) -> _Kept:
        kept = self._kept[position.id] = _Kept(position)
        return kept

    def find(self, conversation_id: str) -> _Kept | None:
        kept = self._kept.get(conversation_id)
        if kept is not None and self.clock() >= kept.expires_at:
            del self._kept[conversation_id]
            return None
        return kept

    def names(self) -> list[str]:
        """In the order of acceptance."""
        return list(self._kept)

    def tell(self, kept: _Kept, kind: EntryType, data: dict[str, Any]) -> None:
        seq = len(kept.entries) + 1
        kept.entries.append(Entry(seq, self.clock(), kind, data, str(seq)))
        self.changed.notify_all()

    def call_off(self, kept: _Kept) -> None:
        if kept.position.out:
            self.called_off.append(kept.position.id)

    def ring(self, conversation_id: str) -> None:
        kept, now = self.find(conversation_id), self.clock()
        self.due[conversation_id] = 0.0 if kept and kept.ended(now) else now
        self.bells = min(MAX_BELLS, self.bells + 1)
        self.changed.notify_all()


class MemoryLedger:
    """The orchestrator's side."""

    def __init__(self, store: MemoryStore, *, ttl_s: float = 7 * 86400) -> None:
        self._store, self._ttl_s = store, ttl_s

    def submit(self, spec: ConversationSpec) -> float:
        store = self._store
        with store.changed:
            known = store.find(spec.id)
            if known is not None:
                return known.position.spec.created_at
            spec = spec.model_copy(update={"created_at": store.clock()})
            kept = store.keep(Conversation(spec=spec))
            self._tell(kept, opening(kept.position))
            store.ring(spec.id)
            return spec.created_at

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
            store.due[name] = now + LEASE_S
            kept.fence += 1
            return Claim(kept.conversation(), kept.fence, now, kept.cancel, dict(kept.calls))

    def commit(self, fence: int, after: Conversation, told: Sequence[Told], due: float | None) -> bool:
        store = self._store
        with store.changed:
            kept = self._held(after.id, fence)
            if kept is None:
                return False
            if after.terminal:
                store.call_off(kept)
            kept.position = after.model_copy(update={"messages": ()})
            self._tell(kept, told)
            if after.terminal:
                store.due.pop(after.id, None)
                kept.expires_at = store.clock() + self._ttl_s
            elif due is not None:
                store.due[after.id] = due
                if kept.ended(store.clock()) or kept.all_in():
                    store.ring(after.id)
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

    def load(self, conversation_id: str) -> Conversation | None:
        with self._store.changed:
            kept = self._store.find(conversation_id)
            return kept.conversation() if kept else None

    def newest(self, limit: int) -> list[Conversation]:
        with self._store.changed:
            kept = [self._store.find(name) for name in reversed(self._store.names())]
            return [one.position for one in kept if one][:limit]

    def entries(self, conversation_id: str, after: str, wait_s: float) -> list[Entry]:
        def found() -> list[Entry]:
            kept = self._store.find(conversation_id)
            return kept.entries[int(after) :] if kept else []

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

    def _held(self, conversation_id: str, fence: int) -> _Kept | None:
        kept = self._store.find(conversation_id)
        return kept if kept and kept.fence == fence else None

    def _tell(self, kept: _Kept, told: Sequence[Told]) -> None:
        for kind, data in told:
            self._store.tell(kept, kind, json.loads(data))


class MemoryCallLedger:
    """The workers' side: what `wire.calls.CallLedger` is on redis."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def claim(self, ref: CallRef, worker: str) -> Claimed:
        store = self._store
        with store.changed:
            kept = store.find(ref.conversation_id)
            if kept is None or not self._wanted(kept, ref):
                return "ended"
            record = kept.calls.get(ref.key)
            if record is not None and (record.attempt >= ref.attempt or record.result):
                return "taken"
            kept.calls[ref.key] = CallRecord(ref.attempt, store.clock(), worker, None)
            store.tell(kept, "started", {"key": ref.key, "attempt": ref.attempt, "worker": worker})
            return "claimed"

    def beat(self, refs: Iterable[CallRef]) -> list[CallRef]:
        return [ref for ref in refs if not self._beat(ref)]

    def progress(self, ref: CallRef, text: str) -> bool:
        with self._store.changed:
            kept, record = self._running(ref)
            if kept is None or record is None:
                return False
            self._store.tell(kept, "progress", {"key": ref.key, "text": text})
            return True

    def commit(self, ref: CallRef, result: CallResult) -> Committed:
        store = self._store
        with store.changed:
            kept = store.find(ref.conversation_id)
            if kept is None or kept.ended(store.clock()):
                return "ended"
            record = kept.calls.get(ref.key)
            if record is None or record.attempt != ref.attempt or record.result:
                return "duplicate"
            if not kept.is_out(ref.key):
                return "ended"
            kept.calls[ref.key] = replace(record, result=result)
            store.tell(kept, "result", result.told(ref.key))
            if kept.all_in():
                store.ring(ref.conversation_id)
            return "recorded"

    def _wanted(self, kept: _Kept, ref: CallRef) -> bool:
        return not kept.ended(self._store.clock()) and kept.is_out(ref.key)

    def _beat(self, ref: CallRef) -> bool:
        with self._store.changed:
            kept, record = self._running(ref)
            if kept is None or record is None:
                return False
            kept.calls[ref.key] = replace(record, beat_at=self._store.clock())
            return True

    def _running(self, ref: CallRef) -> tuple[_Kept, CallRecord] | tuple[None, None]:
        """Call under the lock: this attempt, if it is the newest and still wanted."""
        kept = self._store.find(ref.conversation_id)
        record = kept.calls.get(ref.key) if kept and self._wanted(kept, ref) else None
        return (kept, record) if kept and record and record.attempt == ref.attempt else (None, None)
