"""What must hold after each step, and what at the end: told from the stream and from what was really done."""

from collections.abc import Callable
from typing import TypeVar

from skillfleet.conversations.budgets import calls_made, closing_message
from skillfleet.conversations.ledger import Claim
from skillfleet.conversations.lost_calls import MAX_STARTS
from skillfleet.conversations.memory_store import Kept, MemoryStore
from skillfleet.conversations.messages import transcript_problem
from skillfleet.conversations.models import Conversation, ConversationSpec
from skillfleet.events import Entry
from skillfleet_workers.wire.contract import CallRef

from .chains import look_at_step
from .families import FAMILY_TOOLS
from .kinship import Kinship
from .plans import MOST_RETRIES, look_at_plan, look_at_tool
from .post import PostOffice
from .record import Record
from .stories import PARALLEL, REPLY_TOKENS, RETRIES, undisturbed
from .violations import claim_that

Answer = TypeVar("Answer")


class Invariants:
    def __init__(self, store: MemoryStore, room: int) -> None:
        self._store, self.room = store, room
        self.records: dict[str, Record] = {}
        self.open: set[str] = set()
        self._accepted: dict[str, ConversationSpec] = {}
        self.post = PostOffice(store)
        self.kinship = Kinship(store, self.records)

    def accepted(self, name: str, spec: ConversationSpec | None = None) -> None:
        """`spec`: as it was asked for."""
        if spec is not None:
            self._accepted[name] = spec
        if name not in self.records:
            self.records[name] = Record()
            self.open.add(name)
            self.kinship.accepted(name)
        self.look(name)

    def look(self, name: str) -> None:
        """1, 3, 4, 6 and 8 of one conversation, after something was done to it."""
        kept, record = self._store.find(name), self.records[name]
        assert kept is not None, f"8: {name} is gone"
        for entry in kept.entries[record.seen :]:
            self._fold(name, record, entry)
        position = kept.position
        status = self._status(record, position)
        claim_that(position.status == status, "4: the status is the fold of the events", (name, status))
        places = (name in self._store.due) + (name in self._store.ready)
        claim_that(places == (not position.terminal), "8: what is open is due, now or some time", (name, places))
        self._look_at_places(position)
        _look_at_budgets(position)
        waits = bool(position.out)
        problem = transcript_problem(record.messages)
        claim_that((problem is not None) == waits, "6: every call has its one tool message", (name, problem))
        if position.terminal:
            self.open.discard(name)
        self.kinship.look(position)
        for run in position.runs:
            claim_that(record.starts[run.key] <= run.ref.attempt, "3: starts <= attempts", (name, run.key))

    def _status(self, record: Record, position: Conversation) -> str:
        """It waits until an orchestrator has seen the last word."""
        unseen = position.status == "waiting" and bool(position.with_persons)
        return "waiting" if record.status == "running" and (record.asking or unseen) else record.status

    def _look_at_places(self, position: Conversation) -> None:
        """Nothing leaks a place in the tool queue, nor waits for one in vain."""
        store, wanted = self._store, {run.ref.call_id for run in position.with_workers}
        queues = list(store.places.values())
        waiting = [call_id for one in queues for members in one.waiting.members.values() for call_id in members]
        sent = [call_id for one in queues for call_id in one.sent]
        claim_that(len({*waiting, *sent}) == len(waiting + sent), "a call stands in one queue, once", position.id)
        kept = {call for call in (*waiting, *sent) if call.startswith(f"{position.id}.")}
        claim_that(kept <= wanted, "only calls that are out have places", (position.id, kept, wanted))
        claim_that(not kept or position.status != "paused", "what is paused has no places", (position.id, kept))
        deepest = max((len(one.sent) for one in queues), default=0)
        claim_that(deepest <= self.room, "the tool queues are shallow", (deepest, self.room))

    def began(self, ref: CallRef, effects: str) -> None:
        record = self.records[ref.conversation_id]
        record.ran[ref.key] += 1
        look_at_step(self._store, ref)
        if spec := self._accepted.get(ref.conversation_id):
            look_at_tool(self._store, ref, spec)
        most = 1 if effects == "unsafe" else MAX_STARTS * (1 + max(RETRIES, MOST_RETRIES))
        claim_that(record.ran[ref.key] <= most, "3: starts of one call", (ref.task_id, effects))

    def asked(self, name: str, turn: int, fence: int) -> None:
        """Of a stale orchestrator nothing is said: it may have been stopped on its way to the model."""
        kept, record = self._store.find(name), self.records[name]
        record.asked += 1
        assert kept is not None
        if record.holder == fence:
            claim_that(kept.position.turn == turn - 1, "10: a recorded turn is not paid twice", (name, turn))
            self.kinship.asked(name, fence)

    def claimed(self, claim: Claim) -> None:
        name, record = claim.conversation.id, self.records[claim.conversation.id]
        claim_that(record.holder is None or claim.fence > record.holder, "5: fences grow", (name, claim.fence))
        record.holder, record.claimed_at, record.sent_then = claim.fence, claim.now, self.post.sent
        self.kinship.claimed(claim)
        self.look(name)

    def written(
        self, name: str, fence: int, write: Callable[[], Answer], *, lets_go: Callable[[bool], bool]
    ) -> Answer:
        """5: only who holds the newest fence changes anything."""
        record, kept = self.records[name], self._store.find(name)
        assert kept is not None
        before, seen, position = self._state(kept), len(kept.entries), kept.position
        done = write()
        if record.holder != fence:
            claim_that(not done and before == self._state(kept), "5: a stale write changes nothing", (name, fence))
        elif lets_go(bool(done)):
            record.holder = None
        self.look(name)
        if done:
            self.post.looked(position, kept, kept.entries[seen:], record.sent_then)
        return done

    def _state(self, kept: Kept) -> tuple[object, ...]:
        """All of it that a write may change."""
        name, store = kept.position.id, self._store
        mailbox = tuple(kept.mailbox)
        return len(kept.entries), kept.position, mailbox, store.due.get(name), kept.fence, name in store.ready

    def _fold(self, name: str, record: Record, entry: Entry) -> None:
        record.fold(name, entry)
        if entry.type == "started":
            self.kinship.started(name, entry.data["key"])
        elif entry.type == "sent":
            self.post.told_by_system(entry)
        elif entry.type == "handed":
            self.post.hand(name, entry, record.claimed_at)

    def at_end(self, name: str, ended: Conversation, seen: list[Entry], disturbances: float) -> None:
        """1, 9, 10 and 12 of one conversation, when all is over."""
        record, kept = self.records[name], self._store.find(name)
        assert kept is not None
        claim_that(ended.terminal, "1: every accepted conversation ends", (name, ended.status))
        claim_that(seen == kept.entries, "12: a follower sees each event once, in order", name)
        claim_that(set(record.results) == {run.key for run in ended.runs}, "3: every call has its result", name)
        forked = {run.key for run in ended.runs if run.child}
        claim_that(set(record.begun) <= set(record.ended) == forked, "every child's end is told", (name, forked))
        cut = ended.closing is not None and ended.closing.code in BY_THE_CLOCK
        paid = record.asked - ended.turn - (ended.status in ("failed", "expired", "cancelled")) - cut
        claim_that(paid <= disturbances, "10: what is paid in vain", (name, record.asked, ended.turn))
        self.kinship.at_end(ended)
        self.post.at_end(name, ended, seen)
        if plan := ended.spec.plan:
            look_at_plan(ended, plan)
            return
        _same_transcript(ended, {known.id for known in ended.children if self._was_cancelled(known.id)})

    def _was_cancelled(self, name: str) -> bool:
        """By a person."""
        return name in self.records and self.records[name].cancelled


BY_THE_CLOCK = ("timeout", "no_answer_from_person")
"""Limits that an undisturbed run may keep."""


BY_CHILDREN = ('"max_children"', '"no_budget_left"')
"""What a call is refused with that may be made when others have ended."""


def _look_at_budgets(position: Conversation) -> None:
    limits, closing = position.spec.limits, position.closing is not None
    claim_that(
        not position.spec.has_model or position.turn <= limits.max_turns + closing,
        "10: one turn beyond the limit",
        position.id,
    )
    calls = limits.max_tool_calls
    claim_that(calls is None or calls_made(position) <= calls, "10: no call beyond the limit", position.id)
    own = position.usage.output_tokens - sum(child.usage.output_tokens for child in position.children)
    most = limits.max_output_tokens
    claim_that(
        most is None or own < most + REPLY_TOKENS * (1 + closing), "10: cost <= budget + one turn", position.id
    )
    out = sum(run.sends > 0 for run in position.out)
    claim_that(out <= PARALLEL, "few calls are out at once", (position.id, out))


def _same_transcript(ended: Conversation, cancelled: set[str]) -> None:
    """9, up to where it was cut short, and but for calls that were lost with their worker. `cancelled`: which of its
    children people have."""
    calm = undisturbed(ended.spec)
    budget = any(most is not None for most in (ended.spec.limits.max_tool_calls, ended.spec.limits.max_output_tokens))
    cut = closing_message(ended.closing) if ended.closing and ended.closing.code in BY_THE_CLOCK else None
    fates = {run.tool_call_id: run.status for run in ended.runs}
    for told, expected in zip(ended.messages, calm.messages, strict=False):
        excused = told.role == "tool" and fates[told.tool_call_id or ""] in ("lost", "cancelled")
        excused |= told.role == "tool" and told.name in FAMILY_TOOLS
        # With its parent, before that was seen to end.
        taken_along = ended.status == "cancelled" or bool(cancelled)
        excused |= told.role == "tool" and taken_along and '"child_cancelled"' in (told.content or "")
        # A parent that was paused has more time than the child that it waits for.
        excused |= told.role == "tool" and '"child_expired"' in (told.content or "")
        excused |= told.role == "tool" and any(code in f"{told.content}{expected.content}" for code in BY_CHILDREN)
        if told == cut or (budget and told != expected and (excused or ended.spec.subagents)):
            return  # what it was spared, or its child was, is there for the next turns
        same = told == expected or (excused and told.tool_call_id == expected.tool_call_id)
        if excused and ended.spec.steps:
            return  # what a step has come to decides which are next
        claim_that(same, "9: the transcript of an undisturbed run", (ended.id, told, expected))
    whole = ended.status == calm.status and ended.error == calm.error
    claim_that(
        whole or ended.status in ("cancelled", "expired"), "9: the end of an undisturbed run", (ended.id, ended.error)
    )
    missing = [message.role for message in calm.messages[len(ended.messages) :]]
    last_turn = ended.closing is not None and missing.count("assistant") == 1
    claim_that(not whole or not missing or last_turn, "9: as long as an undisturbed run", ended.id)
    claim_that(ended.status != "completed" or ended.answer == calm.answer, "9: the answer", ended.id)
