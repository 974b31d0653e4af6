"""Messages in memory: the twin of wire/mail.lua, deliver.lua and subscribe.lua, where their rules are told."""

import math
from dataclasses import replace
from typing import Any

from skillfleet_workers.wire.contract import CallRef
from skillfleet_workers.wire.keys import POSTED_S
from skillfleet_workers.wire.uuids import uuid_of

from ..subagents.mailbox import (
    DEFAULT_TTL_S,
    MAX_MAILBOX,
    MAX_SUBSCRIPTIONS,
    SYSTEM,
    AgentMessage,
    Delivered,
    Mail,
    MessageType,
    Refused,
    fits,
    orphaned,
)
from .memory_places import UNKNOWN
from .memory_store import Kept, MemoryStore

_ANSWERS = (MessageType.RESPONSE, MessageType.ERROR)


class MailInMemory:
    _store: MemoryStore

    def deliver(self, message: AgentMessage, root: str, call: CallRef | None = None) -> Delivered:
        store = self._store
        with store.changed:
            now, known = store.clock(), (root, message.message_id)
            while store.posted and (oldest := next(iter(store.posted.items())))[1][1] <= now:
                del store.posted[oldest[0]]
            if known not in store.posted:
                answer = _delivered(store, message.model_copy(update={"timestamp": now}), root)
                store.posted[known] = answer, now + POSTED_S
            answer, _ = store.posted[known]
            _note_posted(store, call, answer)
            return answer

    def subscribe(self, conversation_id: str, pattern: str, root: str, call: CallRef | None = None) -> Delivered:
        store = self._store
        with store.changed:
            before = _posted(store, call)
            answer = before or Delivered(refused=_unheard(store, conversation_id, pattern, root))
            if not before and not answer.refused:
                store.topics[root].add((conversation_id, pattern))
            _note_posted(store, call, answer)
            return answer

    def sent(self, after: str, wait_s: float) -> list[tuple[str, AgentMessage]]:
        store = self._store

        def found() -> list[tuple[str, AgentMessage]]:
            return [(str(place), message) for place, message in store.messages if place > last]

        with store.changed:
            last = store.messages_told if after == "$" else int(after)
            store.changed.wait_for(found, timeout=wait_s)
            return found()


def unexpired_mail(store: MemoryStore, kept: Kept) -> tuple[Mail, ...]:
    """What has expired goes."""
    kept.mailbox = {place: one for place, one in kept.mailbox.items() if one.expires_at > store.clock()}
    return tuple(Mail(place, message) for place, message in kept.mailbox.items())


def end_mail(store: MemoryStore, kept: Kept) -> None:
    """Of one that has ended: who waits for its answer is told."""
    name, root = kept.position.id, kept.position.root
    for (requester, correlation_id), expires_at in kept.requests.items():
        asker, left_s = store.find(requester), expires_at - store.clock()
        if asker and left_s > 0 and not asker.ended(store.clock()):
            about: dict[str, Any] = {
                "message_id": uuid_of(f"{name} {requester} {correlation_id}"),
                "recipient_id": requester,
                "correlation_id": correlation_id,
                "ttl": max(DEFAULT_TTL_S, math.ceil(left_s)),
                "timestamp": store.clock(),
            }
            message = AgentMessage.model_validate(orphaned(name, kept.position.status, root) | about)
            _put_mail(store, asker, message)
            _tell_sent(store, requester, message)
    store.topics[root] = {(heard_by, pattern) for heard_by, pattern in store.topics[root] if heard_by != name}
    kept.mailbox, kept.requests = {}, {}


def _delivered(store: MemoryStore, message: AgentMessage, root: str) -> Delivered:
    sender = message.sender_id
    if sender != SYSTEM and _in_tree(store, sender, root) is not None:
        return Delivered(refused="unknown_sender")
    to = _to_hearers(store, message, root) if message.topic else _to_recipient(store, message, root)
    if not to.refused:
        _tell_sent(store, (message.recipient_id or root) if sender == SYSTEM else sender, message)
    return to


def _to_hearers(store: MemoryStore, message: AgentMessage, root: str) -> Delivered:
    topic = message.topic or ""
    heard = {name for name, pattern in store.topics[root] if fits(pattern, topic)} - {message.sender_id}
    kept = [one for name in heard if (one := store.find(name)) and not one.ended(store.clock())]
    with_room = [one for one in kept if _has_room(store, one)]
    for one in with_room:
        _put_mail(store, one, message)
    return Delivered(len(with_room), "mailbox_full" if kept and not with_room else None)


def _to_recipient(store: MemoryStore, message: AgentMessage, root: str) -> Delivered:
    asked = (message.recipient_id or "", message.correlation_id or "")
    answers = message.message_type in _ANSWERS and bool(message.correlation_id)
    to_system = answers and message.recipient_id == SYSTEM
    refused = None if to_system else _in_tree(store, asked[0], root)
    if refused:
        return Delivered(refused=refused)
    asker, sender = store.find(asked[0]), store.find(message.sender_id)
    if answers and not (sender and sender.requests.get(asked, 0.0) > store.clock()):
        return Delivered(refused="no_such_request")
    if asker is not None:
        request = message.message_type == MessageType.REQUEST
        if not _has_room(store, asker) or (request and not _has_room_for_request(store, asker)):
            return Delivered(refused="mailbox_full")
        _put_mail(store, asker, message)
        if request:
            asker.requests[message.sender_id, asked[1]] = message.expires_at
    if answers and sender:
        del sender.requests[asked]
    return Delivered(1)


def _in_tree(store: MemoryStore, conversation_id: str, root: str) -> Refused | None:
    """Why nothing may be sent to it."""
    kept = store.find(conversation_id)
    if kept is None or kept.position.root != root:
        return "unknown_recipient"
    return "recipient_ended" if kept.ended(store.clock()) else None


def _has_room(store: MemoryStore, kept: Kept) -> bool:
    return len(kept.mailbox) < MAX_MAILBOX or len(unexpired_mail(store, kept)) < MAX_MAILBOX


def _has_room_for_request(store: MemoryStore, kept: Kept) -> bool:
    if len(kept.requests) >= MAX_MAILBOX:
        kept.requests = {asked: at for asked, at in kept.requests.items() if at > store.clock()}
    return len(kept.requests) < MAX_MAILBOX


def _put_mail(store: MemoryStore, kept: Kept, message: AgentMessage) -> None:
    kept.mailbox[message.message_id] = message
    if kept.position.listening:
        _look_again(store, kept)


def _tell_sent(store: MemoryStore, teller: str, message: AgentMessage) -> None:
    kept = store.find(teller)
    if kept is not None and not kept.position.terminal:
        store.tell(kept, "sent", message.model_dump(mode="json"))
    store.messages_told += 1
    store.messages.append((store.messages_told, message))
    store.changed.notify_all()


def _look_again(store: MemoryStore, kept: Kept) -> None:
    kept.news = kept.fence
    store.ring(kept.position.id)


def _unheard(store: MemoryStore, name: str, pattern: str, root: str) -> Refused | None:
    """Why it may not subscribe."""
    refused = _in_tree(store, name, root)
    if refused or (name, pattern) in store.topics[root]:
        return refused
    heard = sum(heard_by == name for heard_by, _ in store.topics[root])
    return "too_many_subscriptions" if heard >= MAX_SUBSCRIPTIONS else None


def _posted(store: MemoryStore, call: CallRef | None) -> Delivered | None:
    kept = store.find(call.conversation_id) if call else None
    text = kept.calls.get(call.key, UNKNOWN).posted if kept and call else ""
    return Delivered.parse(text) if text else None


def _note_posted(store: MemoryStore, call: CallRef | None, answer: Delivered) -> None:
    kept = store.find(call.conversation_id) if call else None
    if kept is None or call is None or kept.ended(store.clock()):
        return
    record = kept.calls.get(call.key, UNKNOWN)
    if not record.posted:
        kept.calls[call.key] = replace(record, posted=answer.json())
        _look_again(store, kept)
