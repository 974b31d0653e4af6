"""Messages: what a mailbox must bring, told by an office that knows all that was sent and handed out."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from skillfleet.conversations.memory_store import Kept, MemoryStore
from skillfleet.conversations.models import Conversation
from skillfleet.events import Entry
from skillfleet.subagents.mailbox import SYSTEM, AgentMessage, Delivered, MessageType, fits
from skillfleet.tools.own import RECEIVE

from .violations import claim_that


@dataclass(frozen=True, slots=True)
class Posted:
    message: AgentMessage
    to: frozenset[str]
    became: Delivered


@dataclass(eq=False)
class PostOffice:
    _store: MemoryStore
    handed: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By recipient and message_id."""
    _posted: dict[str, Posted] = field(default_factory=dict)
    _hears: dict[str, set[str]] = field(default_factory=dict)
    _requests: dict[tuple[str, str, str], float] = field(default_factory=dict)
    """By who answers, who asks and correlation_id: when it expires."""

    def delivered(self, message: AgentMessage, root: str, became: Delivered) -> None:
        """As the ledger says it; the first time it is looked at, then it must say so again."""
        first = self._posted.get(message.message_id)
        if first is not None:
            claim_that(became == first.became, "14: a message is delivered once", (message.message_id, became))
            return
        sent = message.model_copy(update={"timestamp": self._store.clock()})
        to = self._recipients(sent, root)
        claim_that(became.to == len(to), "14: whoever is to get it does", (sent, to, became))
        self._posted[sent.message_id] = Posted(sent, to, became)
        if to and sent.message_type == MessageType.REQUEST:
            self._requests[_asked(sent.recipient_id, sent.sender_id, sent.correlation_id)] = sent.expires_at
        elif to and _answers(sent):
            del self._requests[_asked(sent.sender_id, sent.recipient_id, sent.correlation_id)]

    def subscribed(self, name: str, pattern: str, became: Delivered) -> None:
        if not became.refused:
            self._hears.setdefault(name, set()).add(pattern)

    def told_by_system(self, entry: Entry) -> None:
        """`sent` stands in the stream of its recipient: whoever was asked has ended."""
        message = AgentMessage.model_validate(entry.data)
        if message.sender_id != SYSTEM:
            return
        recipient = message.recipient_id or ""
        owed = [key for key in self._requests if key[1:] == (recipient, message.correlation_id)]
        claim_that(bool(owed), "14: only what was asked and not answered is answered by the system", message)
        for key in owed:
            del self._requests[key]
        self._posted[message.message_id] = Posted(message, frozenset({recipient}), Delivered(1))

    def hand(self, name: str, entry: Entry, claimed_at: float) -> None:
        """What stands in the stream of whoever was given it."""
        given = [self._posted.get(one) for one in entry.data["message_ids"]]
        for one in given:
            claim_that(one is not None and name in one.to, "14: only what was sent to it", (name, entry))
            assert one is not None
            self.handed[name, one.message.message_id] += 1
            claim_that(self.handed[name, one.message.message_id] == 1, "14: handed out once", (name, one.message))
            claim_that(claimed_at < one.message.expires_at, "14: nothing that has expired", (name, one.message))
        order = [(one.message.priority, one.message.timestamp) for one in given if one]
        claim_that(order == sorted(order), "14: the most urgent first, then what came first", (name, entry))

    def looked(self, before: Conversation, after: Kept, entries: Sequence[Entry], known: int) -> None:
        """A call that takes whatever there is has left nothing of the first `known` that were sent."""
        listening = [(run.key, run.listens) for run in before.out if run.listens]
        ended = {run.key for run in after.position.runs if run.status == "succeeded"}
        if len(listening) != 1:
            return
        ((key, listens),) = listening
        if key not in ended or listens.topic is not None or listens.correlation_id is not None:
            return
        handed = [one for entry in entries if entry.type == "handed" for one in entry.data["message_ids"]]
        if len(handed) < listens.limit:
            left = self._waiting(before.id, known)
            claim_that(not left, "14: what has come is handed out", (before.id, key, left))

    def at_end(self, name: str, ended: Conversation, entries: Sequence[Entry]) -> None:
        """The transcript shows what was handed out."""
        told = {entry.data["key"]: entry.data["message_ids"] for entry in entries if entry.type == "handed"}
        keys = {run.tool_call_id: run.key for run in ended.runs if run.name == RECEIVE.tool}
        for message in ended.messages:
            if message.role != "tool" or message.name != RECEIVE.tool or not (message.content or "").startswith("["):
                continue
            shown = [one["message_id"] for one in json.loads((message.content or "").splitlines()[0])]
            key = keys[message.tool_call_id or ""]
            claim_that(shown == told.pop(key, []), "14: what is handed out stands in the transcript", (name, key))
        claim_that(not told, "14: what is handed out stands in the transcript", (name, told))

    @property
    def sent(self) -> int:
        return len(self._posted)

    def _waiting(self, name: str, known: int) -> list[str]:
        """What it could have been given then, and could be given still."""
        now = self._store.clock()
        return [
            message_id
            for message_id, one in islice(self._posted.items(), known)
            if name in one.to and not self.handed[name, message_id]
            if now < one.message.expires_at
        ]  # fmt: skip

    def _recipients(self, message: AgentMessage, root: str) -> frozenset[str]:
        if not self._reads(message.sender_id, root):
            return frozenset()
        if message.topic is not None:
            heard = {
                name for name, patterns in self._hears.items() if any(fits(one, message.topic) for one in patterns)
            }
            return frozenset(name for name in heard - {message.sender_id} if self._reads(name, root))
        recipient = message.recipient_id or ""
        asked = _asked(message.sender_id, recipient, message.correlation_id)
        if not self._reads(recipient, root):
            return frozenset()
        if _answers(message) and self._requests.get(asked, 0.0) <= self._store.clock():
            return frozenset()
        return frozenset({recipient})

    def _reads(self, name: str, root: str) -> bool:
        kept = self._store.find(name)
        return kept is not None and kept.position.root == root and not kept.ended(self._store.clock())


def _answers(message: AgentMessage) -> bool:
    kinds = (MessageType.RESPONSE, MessageType.ERROR)
    return message.message_type in kinds and message.correlation_id is not None


def _asked(who: str | None, by: str | None, correlation_id: str | None) -> tuple[str, str, str]:
    return who or "", by or "", correlation_id or ""
