"""The workers' side of the ledger in memory."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from skillfleet_workers.wire.calls import CallRecord, CallResult, Claimed, Committed, HandedBack, handed_back
from skillfleet_workers.wire.contract import CallRef, Effects
from skillfleet_workers.wire.execution import Output

from ..events import LiveType
from .memory_places import UNKNOWN, message_came
from .memory_store import Kept, MemoryStore


class MemoryCallLedger:
    """The workers' side: what `wire.calls.CallLedger` is on redis."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def claim(self, ref: CallRef, worker: str, effects: Effects | None = None) -> Claimed:
        store = self._store
        with store.changed:
            kept = store.find(ref.conversation_id)
            if kept is not None:
                message_came(store, kept, ref)
            if kept is None or not self._wanted(kept, ref):
                return "ended"
            if kept.pause is not None:
                return "paused"
            record = kept.calls.get(ref.key)
            if record is not None and (record.attempt >= ref.attempt or record.result):
                return "taken"
            kept.calls[ref.key] = replace(
                record or UNKNOWN, attempt=ref.attempt, beat_at=store.clock(), worker=worker, effects=effects
            )
            store.tell(kept, "started", {"key": ref.key, "attempt": ref.attempt, "worker": worker})
            return "claimed"

    def beat(self, refs: Iterable[CallRef]) -> list[CallRef]:
        return [ref for ref in refs if not self._beat(ref)]

    def progress(self, ref: CallRef, text: str) -> bool:
        return self._tell(ref, "progress", {"key": ref.key, "text": text})

    def output(self, ref: CallRef, output: Output) -> bool:
        return self._tell(ref, "output", output.told(ref.key))

    def _tell(self, ref: CallRef, kind: LiveType, told: dict[str, Any]) -> bool:
        with self._store.changed:
            kept, record = self._running(ref)
            if kept is None or record is None:
                return False
            self._store.tell_live(kept, kind, told)
            return True

    def commit(self, ref: CallRef, result: CallResult, retries: int = 0) -> Committed:
        store = self._store
        with store.changed:
            kept = store.find(ref.conversation_id)
            if kept is None:
                return "ended"
            record = kept.calls.get(ref.key)
            if record is not None and record.result == result:
                return "recorded"
            unwanted = self._unwanted(kept, ref)
            if unwanted == "again":
                return unwanted
            if unwanted is not None or record is None:
                kept.position = kept.position.model_copy(update={"dropped": kept.position.dropped + 1})
                return unwanted or "duplicate"
            if record.failures < retries:
                return self._failed(kept, ref, record, result)
            kept.calls[ref.key] = replace(record, result=result)
            store.tell(kept, "result", result.told(ref))
            news = result.forks or bool(kept.position.unsent)
            kept.news = kept.fence if news else kept.news
            if (news and kept.held != kept.fence) or kept.all_in():
                store.ring(ref.conversation_id)
            return "recorded"

    def hand_back(self, ref: CallRef, lost: str = "") -> HandedBack:
        store, (kind, told) = self._store, handed_back(ref, lost)
        with store.changed:
            kept = store.find(ref.conversation_id)
            if kept is None or not self._wanted(kept, ref):
                return "ended"
            record = kept.calls.get(ref.key)
            if record is None or record.result or record.attempt != ref.attempt:
                return "duplicate"
            if ref.attempt != (record.lost if lost else record.returned):
                noted = replace(record, lost=ref.attempt) if lost else replace(record, returned=ref.attempt)
                kept.calls[ref.key] = replace(noted, said=lost)
                kept.news = kept.fence
                store.tell(kept, kind, told)
                store.ring(ref.conversation_id)
            return "handed_back"

    def _failed(self, kept: Kept, ref: CallRef, record: CallRecord, result: CallResult) -> Committed:
        kept.calls[ref.key] = replace(record, failed=ref.attempt, failures=record.failures + 1)
        kept.news = kept.fence
        self._store.tell(kept, "failed", result.told_of_failure(ref.key))
        self._store.ring(ref.conversation_id)
        return "again"

    def _unwanted(self, kept: Kept, ref: CallRef) -> Committed | None:
        """Why a result is dropped."""
        if kept.ended(self._store.clock()):
            return "ended"
        record = kept.calls.get(ref.key)
        if record is None or record.result or record.attempt != ref.attempt:
            return "duplicate"
        if record.failed == ref.attempt:
            return "again"
        return None if kept.is_out(ref.key) else "ended"

    def _wanted(self, kept: Kept, ref: CallRef) -> bool:
        return not kept.ended(self._store.clock()) and kept.is_out(ref.key)

    def _beat(self, ref: CallRef) -> bool:
        with self._store.changed:
            kept, record = self._running(ref)
            if kept is None or record is None:
                return False
            kept.calls[ref.key] = replace(record, beat_at=self._store.clock())
            return True

    def _running(self, ref: CallRef) -> tuple[Kept, CallRecord] | tuple[None, None]:
        """Call under the lock: this attempt, if it is the newest and still wanted."""
        kept = self._store.find(ref.conversation_id)
        record = kept.calls.get(ref.key) if kept and self._wanted(kept, ref) else None
        return (kept, record) if kept and record and record.attempt == ref.attempt else (None, None)
