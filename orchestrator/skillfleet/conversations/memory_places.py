"""Calls and their places in the tool queue, in memory: the twin of wire/places.lua, where its rules are told."""

from dataclasses import replace

from skillfleet_workers.wire.calls import CallRecord
from skillfleet_workers.wire.contract import CallRef

from .memory_store import Kept, MemoryStore
from .models import ToolRun
from .schedule import RESEND_AFTER_S

UNKNOWN = CallRecord(0, 0.0, "", None)


def give_place(store: MemoryStore, kept: Kept, key: str) -> None:
    store.sent[f"{kept.position.id}.{key}"] = store.clock()
    kept.calls[key] = replace(kept.calls.get(key, UNKNOWN), sent_at=store.clock())


def vacate(store: MemoryStore, kept: Kept, call_id: str) -> None:
    store.sent.pop(call_id, None)
    store.waiting.withdraw(kept.position.spec.tenant, call_id)


def message_came(store: MemoryStore, kept: Kept, ref: CallRef) -> None:
    """Its place is free; those that got theirs before it and still have it were overtaken."""
    sent_at = store.sent.pop(ref.call_id, None)
    if sent_at is None:
        return
    if store.sent:
        store.mark = max(store.mark, sent_at)
    if store.waiting.tenants:
        store.ring_bell()


def send(store: MemoryStore, kept: Kept, run: ToolRun, room: int) -> bool:
    """Whether the call has a place."""
    call_id, again = run.ref.call_id, run.again
    if (again and call_id in store.sent) or (not store.waiting.tenants and len(store.sent) < room):
        give_place(store, kept, run.key)
        return True
    if again and run.key in kept.calls:
        kept.calls[run.key] = replace(kept.calls[run.key], sent_at=0.0)
    store.waiting.put(kept.position.spec.tenant, call_id, store.rank(kept, begun=again))
    return False


def release(store: MemoryStore, room: int, own: str = "") -> list[str]:
    """`own`: whose next look its commit decides itself."""
    released: list[str] = []
    for _ in range(room - len(store.sent)):
        call_id = store.waiting.take()
        if call_id is None:
            break
        ref = CallRef.of_call(call_id)
        kept = store.find(ref.conversation_id)
        if kept is None:
            continue
        give_place(store, kept, ref.key)
        if ref.conversation_id != own and ref.conversation_id in store.due:
            look = store.clock() + RESEND_AFTER_S
            store.due[ref.conversation_id] = min(look, store.due[ref.conversation_id])
        released.append(call_id)
    return released


def heal(store: MemoryStore, kept: Kept) -> None:
    """A call that is out has a place, or waits for one, or was started."""
    if kept.position.status == "paused" or kept.pause is not None or kept.ended(store.clock()):
        return
    for run in kept.position.with_workers:
        record = kept.calls.get(run.key, UNKNOWN)
        if not record.sent_at and not record.result and run.ref.call_id not in store.waiting:
            store.waiting.put(kept.position.spec.tenant, run.ref.call_id, store.rank(kept, begun=True))
