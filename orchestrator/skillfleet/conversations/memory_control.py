"""What people say to a conversation, in memory: the twin of pause.lua, resume.lua and decide.lua."""

from dataclasses import replace

from .ledger import DecidedAs
from .memory_children import open_children
from .memory_places import UNKNOWN
from .memory_store import Kept, MemoryStore
from .persons import asked_for, decided_entry
from .runs import Decision


def pause(store: MemoryStore, kept: Kept, *, paused_with: bool = False) -> None:
    """With its open children."""
    if kept.ended(store.clock()):
        return
    if kept.pause is None:
        kept.pause, kept.paused_with = store.clock(), paused_with
        if kept.position.status != "running" or kept.position.out:
            store.ring(kept.position.id)
    elif not paused_with:
        kept.paused_with = False
    for child in open_children(store, kept):
        pause(store, child, paused_with=True)


def resume(store: MemoryStore, kept: Kept) -> None:
    """With those of its open children that were paused with it."""
    if kept.pause is None or kept.ended(store.clock()):
        return
    paused_s = kept.position.paused_s + store.clock() - kept.pause
    kept.position = kept.position.model_copy(update={"paused_s": paused_s})
    kept.pause, kept.paused_with = None, False
    store.ring(kept.position.id)
    for child in open_children(store, kept):
        if child.paused_with:
            resume(store, child)


def decide(store: MemoryStore, kept: Kept, key: str, decision: Decision) -> DecidedAs:
    record, told = kept.calls.get(key, UNKNOWN), decision.model_dump_json()
    if record.decision:
        return "decided" if record.decision == told else "decided_before"
    if kept.ended(store.clock()):
        return "ended"
    run = next((run for run in kept.position.with_persons if run.key == key), None)
    if run is None or run.asks != asked_for(decision):
        return "not_asked" if run is None else "other_kind"
    kept.calls[key] = replace(record, decision=told)
    store.tell(kept, "decided", decided_entry(key, decision))
    kept.news = kept.fence
    store.ring(kept.position.id)
    return "decided"
