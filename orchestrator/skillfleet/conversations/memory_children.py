"""Children and those who wait for them, in memory: the twin of wire/children.lua, where its rules are told."""

from collections.abc import Iterable
from dataclasses import replace

from skillfleet_workers.wire.contract import CallRef

from ..subagents.fork import outcome
from .memory_places import UNKNOWN
from .memory_store import Kept, MemoryStore
from .models import Conversation, ConversationSpec


def begin_child(store: MemoryStore, spec: ConversationSpec) -> Kept | None:
    """Its parent, if it may begin."""
    parent, key = _wanting(store, spec)
    if parent is not None:
        parent.calls[key] = replace(parent.calls.get(key, UNKNOWN), begun=spec.id)
        store.tell(parent, "child", {"key": key, "child": spec.id, "status": "queued"})
    return parent


def end_family(store: MemoryStore, before: Conversation, kept: Kept) -> None:
    """The children that it wants no more are to end; where it has ended itself, its parent learns of it."""
    wanted = {child.key for child in kept.position.open_children}
    for child in _begun(store, kept, (one.key for one in before.open_children if one.key not in wanted)):
        ask_to_end(store, child)
    if kept.position.terminal and kept.position.spec.parent_call:
        _tell_parent(store, kept)


def _tell_parent(store: MemoryStore, kept: Kept) -> None:
    child = kept.position
    parent, key = _wanting(store, child.spec, leaving=True)
    record = parent.calls.get(key, UNKNOWN) if parent else UNKNOWN
    if parent is None or record.child is not None:
        return
    parent.calls[key] = replace(record, child=outcome(child))
    store.tell(parent, "child", {"key": key, "child": child.id, "status": child.status})
    known, ending = parent.position.child_of(key), parent.position.ending
    if known and known.leaving and not ending:
        return
    parent.news = parent.fence
    if ending or key in parent.position.awaited:
        store.ring(parent.position.id)


def ask_to_end(store: MemoryStore, kept: Kept) -> bool:
    """False when it had ended."""
    if kept.position.terminal:
        return False
    kept.cancel = True
    store.call_off(kept)
    store.ring(kept.position.id)
    for child in open_children(store, kept):
        ask_to_end(store, child)
    return True


def open_children(store: MemoryStore, kept: Kept) -> list[Kept]:
    """Those that have begun."""
    return _begun(store, kept, (child.key for child in kept.position.open_children))


def _begun(store: MemoryStore, kept: Kept, keys: Iterable[str]) -> list[Kept]:
    found = (store.find(kept.calls.get(key, UNKNOWN).begun) for key in keys)
    return [child for child in found if child is not None]


def _wanting(store: MemoryStore, spec: ConversationSpec, *, leaving: bool = False) -> tuple[Kept | None, str]:
    """The parent, if it still wants this child, or (`leaving`) has not heard of its end, and the key of its call."""
    ref = CallRef.of_call(spec.parent_call)
    parent = store.find(ref.conversation_id)
    known = parent.position.child_of(ref.key) if parent else None
    if parent is None or known is None:
        return None, ref.key
    wants = not known.status if leaving else known.open and not parent.ended(store.clock())
    return (parent if wants else None), ref.key
