"""Children and those who wait for them, in memory: the twin of wire/children.lua, where its rules are told."""

from dataclasses import replace

from skillfleet_workers.wire.contract import CallRef

from ..subagents.fork import outcome
from .memory_places import UNKNOWN
from .memory_store import Kept, MemoryStore
from .models import Conversation, ConversationSpec


def begin_child(store: MemoryStore, spec: ConversationSpec) -> bool:
    """Whether it may begin."""
    parent, key = _awaiting(store, spec)
    if parent is None:
        return False
    parent.calls[key] = replace(parent.calls.get(key, UNKNOWN), begun=spec.id)
    store.tell(parent, "child", {"key": key, "child": spec.id, "status": "queued"})
    return True


def end_family(store: MemoryStore, before: Conversation, kept: Kept) -> None:
    """The children that it waits for no more are to end; where it has ended itself, its parent learns of it."""
    awaited = {run.key for run in kept.position.with_children}
    for run in before.with_children:
        child = None if run.key in awaited else store.find(kept.calls.get(run.key, UNKNOWN).begun)
        if child is not None:
            ask_to_end(store, child)
    if kept.position.terminal and kept.position.spec.parent_call:
        _tell_parent(store, kept)


def _tell_parent(store: MemoryStore, kept: Kept) -> None:
    child = kept.position
    parent, key = _awaiting(store, child.spec)
    record = parent.calls.get(key, UNKNOWN) if parent else UNKNOWN
    if parent is None or record.child is not None:
        return
    parent.calls[key] = replace(record, child=outcome(child))
    store.tell(parent, "child", {"key": key, "child": child.id, "status": child.status})
    parent.news = parent.fence
    store.ring(parent.position.id)


def ask_to_end(store: MemoryStore, kept: Kept) -> bool:
    """False when it had ended."""
    if kept.position.terminal:
        return False
    kept.cancel = True
    store.call_off(kept)
    store.ring(kept.position.id)
    return True


def _awaiting(store: MemoryStore, spec: ConversationSpec) -> tuple[Kept | None, str]:
    """The parent, if it still waits for this child, and the key of its call."""
    ref = CallRef.of_call(spec.parent_call)
    parent = store.find(ref.conversation_id)
    if parent is None or parent.ended(store.clock()):
        return None, ref.key
    waits = any(run.key == ref.key for run in parent.position.with_children)
    return (parent if waits else None), ref.key
