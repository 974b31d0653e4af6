"""Calls and their places in the tool queues, in memory: the twin of wire/places.lua, where its rules are told."""

from dataclasses import replace

from skillfleet_workers.wire.calls import CallRecord
from skillfleet_workers.wire.contract import CallRef

from .memory_store import Kept, MemoryStore
from .runs import ToolRun
from .schedule import RESEND_AFTER_S, Rooms

UNKNOWN = CallRecord(0, 0.0, "", None)


def route_of(kept: Kept, key: str) -> str:
    return kept.calls.get(key, UNKNOWN).route


def give_place(store: MemoryStore, kept: Kept, key: str) -> None:
    record = kept.calls.get(key, UNKNOWN)
    store.places[record.route].sent[f"{kept.position.id}.{key}"] = store.clock()
    kept.calls[key] = replace(record, sent_at=store.clock())


def vacate(store: MemoryStore, kept: Kept, ref: CallRef) -> None:
    places = store.places[route_of(kept, ref.key)]
    places.sent.pop(ref.call_id, None)
    places.waiting.withdraw(kept.position.spec.tenant, ref.call_id)


def message_came(store: MemoryStore, kept: Kept, ref: CallRef) -> None:
    """Its place is free; those that got theirs before it and still have it were overtaken."""
    places = store.places[route_of(kept, ref.key)]
    sent_at = places.sent.pop(ref.call_id, None)
    if sent_at is None:
        return
    if places.sent:
        places.mark = max(places.mark, sent_at)
    if places.waiting.tenants:
        store.ring_bell()


def take_route(store: MemoryStore, kept: Kept, run: ToolRun) -> None:
    """Note the route of a call that is to be sent, and take it out of the queue of the one that it had."""
    if run.route != route_of(kept, run.key):
        vacate(store, kept, run.ref)
        kept.calls[run.key] = replace(kept.calls.get(run.key, UNKNOWN), route=run.route, sent_at=0.0)


def send(store: MemoryStore, kept: Kept, run: ToolRun, rooms: Rooms) -> bool:
    """Whether the call has a place."""
    take_route(store, kept, run)
    call_id, again, places = run.ref.call_id, run.again, store.places[run.route]
    if (again and call_id in places.sent) or (not places.waiting.tenants and len(places.sent) < rooms.of(run.route)):
        give_place(store, kept, run.key)
        return True
    if again and run.key in kept.calls:
        kept.calls[run.key] = replace(kept.calls[run.key], sent_at=0.0)
    places.waiting.put(kept.position.spec.tenant, call_id, store.rank(kept, begun=again))
    return False


def release(store: MemoryStore, rooms: Rooms, own: str = "") -> list[str]:
    """`own`: whose next look its commit decides itself."""
    return [call_id for route in sorted(store.places) for call_id in _release_route(store, route, rooms, own)]


def _release_route(store: MemoryStore, route: str, rooms: Rooms, own: str) -> list[str]:
    released: list[str] = []
    places = store.places[route]
    for _ in range(rooms.of(route) - len(places.sent)):
        call_id = places.waiting.take()
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


def heal(store: MemoryStore, kept: Kept) -> list[str]:
    """A call that is out has a place, or waits for one, or was started. The routes of those that are out."""
    if kept.position.status == "paused" or kept.pause is not None or kept.ended(store.clock()):
        return []
    for run in kept.position.with_workers:
        record = kept.calls.get(run.key, UNKNOWN)
        waiting = store.places[record.route].waiting
        if not record.sent_at and not record.result and run.ref.call_id not in waiting:
            waiting.put(kept.position.spec.tenant, run.ref.call_id, store.rank(kept, begun=True))
    return sorted({route_of(kept, run.key) for run in kept.position.with_workers})
