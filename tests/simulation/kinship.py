"""Trees of conversations: what those below owe to those above, looked at after whatever happens to one of them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from skillfleet.conversations.ledger import Claim
from skillfleet.conversations.limits import Usage
from skillfleet.conversations.memory_store import Kept, MemoryStore
from skillfleet.conversations.models import Conversation

from .record import Record
from .stories import REPLY_TOKENS
from .violations import claim_that


@dataclass(eq=False)
class Kinship:
    _store: MemoryStore
    _records: Mapping[str, Record]
    _children: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    _doomed: set[tuple[str, int]] = field(default_factory=set)
    """Claims, by their fence, of what is only to be ended, or only to be paused."""

    def accepted(self, name: str) -> None:
        parent = self._parent(self._kept(name).position)
        if parent is not None:
            claim_that(not parent.position.terminal, "13: nothing begins for what has ended", name)
            self._children[parent.position.id].append(name)

    def claimed(self, claim: Claim) -> None:
        name, parent = claim.conversation.id, self._parent(claim.conversation)
        above = parent is None or not parent.position.terminal
        claim_that(above, "13: whose parent has ended is looked at no more", name)
        paused = list(self._paused_above(claim.conversation))
        ends = claim.cancel or self._kept(name).ended(claim.now)
        claim_that(
            ends or claim.pause or not paused, "13: whoever is above is paused, and it goes on", (name, paused)
        )
        if claim.cancel or claim.pause:
            self._doomed.add((name, claim.fence))

    def asked(self, name: str, fence: int) -> None:
        claim_that((name, fence) not in self._doomed, "13: what is to end or to rest asks no model", name)

    def started(self, name: str, key: str) -> None:
        above = list(self._above(self._kept(name).position))
        ended = [one.id for one in above[:1] if one.terminal]
        claim_that(not ended, "13: no call starts for a parent that has ended", (name, key, ended))
        paused = list(self._paused_above(self._kept(name).position))
        claim_that(not paused, "13: no call starts while whoever is above is paused", (name, key, paused))

    def look(self, position: Conversation) -> None:
        if position.terminal:
            for child in map(self._kept, self._children[position.id]):
                ended = child.position.terminal
                claim_that(ended, "13: nothing goes on for what has ended", (position.id, child.position.id))
        for one in (position, *self._above(position)):
            self._look_at_budget(one)

    def at_end(self, ended: Conversation) -> None:
        for known in ended.children:
            child = self._kept(known.id).position if known.id in self._children[ended.id] else None
            same = known.status == child.status if child else not known.begun
            claim_that(same, "13: the parent knows how its child ended", (ended.id, known))
            counted = known.usage == child.usage if child else known.usage == Usage()
            claim_that(counted, "13: the parent knows what its child has used", (ended.id, known))
        used, tree = ended.usage.output_tokens, [ended, *self._below(ended)]
        claim_that(used == sum(map(_tokens, tree)), "13: the usage is that of the tree", (ended.id, used))

    def _look_at_budget(self, top: Conversation) -> None:
        limits, tree = top.spec.limits, [top, *self._below(top)]
        used = sum(map(_tokens, tree))
        spare = sum(REPLY_TOKENS * (1 + (one.closing is not None)) for one in tree)
        most = limits.max_output_tokens
        claim_that(most is None or used < most + spare, "13: a tree keeps to its budget, but for a turn each", top.id)
        sent = sum(run.sends > 0 for one in tree for run in one.runs)
        calls = limits.max_tool_calls
        claim_that(calls is None or sent <= calls, "13: a tree makes no call beyond its limit", (top.id, sent, calls))

    def _paused_above(self, position: Conversation) -> Iterator[str]:
        """By people, who have not let it go on alone since, or whoever stands between."""
        resumed_at = self._records[position.id].resumed_at
        for one in self._above(position):
            record = self._records[one.id]
            if record.paused_at is not None and record.paused_at > resumed_at:
                yield one.id
            resumed_at = max(resumed_at, record.resumed_at)

    def _above(self, position: Conversation) -> Iterator[Conversation]:
        """The nearest first."""
        while (parent := self._parent(position)) is not None:
            position = parent.position
            yield position

    def _below(self, position: Conversation) -> Iterator[Conversation]:
        for child in self._children[position.id]:
            yield self._kept(child).position
            yield from self._below(self._kept(child).position)

    def _parent(self, position: Conversation) -> Kept | None:
        spec = position.spec
        return self._kept(spec.parent_id or "") if spec.parent_call else None

    def _kept(self, name: str) -> Kept:
        kept = self._store.find(name)
        assert kept is not None, f"8: {name} is gone"
        return kept


def _tokens(position: Conversation) -> int:
    """What runs without a model uses none."""
    return 0 if not position.spec.has_model else position.turn * REPLY_TOKENS
