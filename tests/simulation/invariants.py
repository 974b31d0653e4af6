"""What must hold after each step, and what at the end: told from the stream and from what was really done."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from skillfleet.conversations.budgets import calls_made, closing_message
from skillfleet.conversations.lost_calls import MAX_STARTS
from skillfleet.conversations.memory_store import MemoryStore
from skillfleet.conversations.messages import Message, transcript_problem
from skillfleet.conversations.models import TERMINAL, Conversation
from skillfleet.events import Entry
from skillfleet_workers.wire.contract import CallRef

from .stories import PARALLEL, REPLY_TOKENS, RETRIES, undisturbed
from .violations import claim_that

Answer = TypeVar("Answer")


@dataclass
class Record:
    """One accepted conversation, as its stream tells it."""

    seen: int = 0
    status: str = "queued"
    messages: tuple[Message, ...] = ()
    starts: Counter[str] = field(default_factory=Counter)
    results: Counter[str] = field(default_factory=Counter)
    begun: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    """Of its children, by the call that they work on."""
    ran: Counter[str] = field(default_factory=Counter)
    """How often a worker really began to run the call."""
    asked: int = 0
    """How many model replies were paid for."""
    holder: int | None = None
    """The fence of who may write."""
    asking: set[str] = field(default_factory=set)
    """Its calls that wait for a person's word."""
    heard: Counter[str] = field(default_factory=Counter)
    denied: set[str] = field(default_factory=set)
    paused: bool = False
    cancelled: bool = False


class Invariants:
    def __init__(self, store: MemoryStore, room: int) -> None:
        self._store, self.room = store, room
        self.records: dict[str, Record] = {}
        self.open: set[str] = set()

    def accepted(self, name: str) -> None:
        if name not in self.records:
            self.records[name] = Record()
            self.open.add(name)
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
            self._look_at_children(position)
        for run in position.runs:
            claim_that(record.starts[run.key] <= run.ref.attempt, "3: starts <= attempts", (name, run.key))

    def _status(self, record: Record, position: Conversation) -> str:
        """It waits until an orchestrator has seen the last word."""
        unseen = position.status == "waiting" and bool(position.with_persons)
        return "waiting" if record.status == "running" and (record.asking or unseen) else record.status

    def _look_at_children(self, position: Conversation) -> None:
        for run in position.runs:
            child = self._store.find(run.child)
            ends = child is None or child.cancel or child.position.terminal
            claim_that(ends, "nothing goes on for what has ended", (position.id, run.child))

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
        most = 1 if effects == "unsafe" else MAX_STARTS * (1 + RETRIES)
        claim_that(record.ran[ref.key] <= most, "3: starts of one call", (ref.task_id, effects))

    def asked(self, name: str, turn: int, fence: int) -> None:
        """Of a stale orchestrator nothing is said: it may have been stopped on its way to the model."""
        kept, record = self._store.find(name), self.records[name]
        record.asked += 1
        assert kept is not None
        if record.holder == fence:
            claim_that(kept.position.turn == turn - 1, "10: a recorded turn is not paid twice", (name, turn))

    def claimed(self, name: str, fence: int) -> None:
        record = self.records[name]
        claim_that(record.holder is None or fence > record.holder, "5: fences grow", (name, fence))
        record.holder = fence
        self.look(name)

    def written(
        self, name: str, fence: int, write: Callable[[], Answer], *, lets_go: Callable[[bool], bool]
    ) -> Answer:
        """5: only who holds the newest fence changes anything."""
        record, kept = self.records[name], self._store.find(name)
        assert kept is not None
        before = (len(kept.entries), kept.position, self._store.due.get(name), kept.fence, name in self._store.ready)
        done = write()
        now = (len(kept.entries), kept.position, self._store.due.get(name), kept.fence, name in self._store.ready)
        if record.holder != fence:
            claim_that(not done and before == now, "5: a stale write changes nothing", (name, fence))
        elif lets_go(bool(done)):
            record.holder = None
        self.look(name)
        return done

    def _fold(self, name: str, record: Record, entry: Entry) -> None:
        record.seen += 1
        claim_that(entry.seq == record.seen, "4: no gap", (name, entry))
        claim_that(record.status not in TERMINAL, "1: nothing after the terminal event", (name, entry))
        key = entry.data.get("key", "")
        if entry.type == "message":
            record.messages += (Message.model_validate(entry.data),)
        elif entry.type == "turn":
            record.status = "running"
            record.asking.clear()  # who was waited for in vain is waited for no more
        elif entry.type in ("paused", "resumed"):
            record.status = "paused" if entry.type == "paused" else "running"
        elif entry.type == "started":
            record.starts[key] += 1
            claim_that(not record.cancelled, "7: once it is cancelled no call starts", (name, key))
            claim_that(key not in record.asking | record.denied, "no call starts without its leave", (name, key))
            claim_that(not record.paused, "while it is paused no call starts", (name, key))
        elif entry.type == "result":
            record.results[key] += 1
            claim_that(record.results[key] == 1, "3: one recorded result a call", (name, key))
        elif entry.type == "asked":
            record.asking.add(key)
        elif entry.type == "decided":
            record.heard[key] += 1
            claim_that(record.heard[key] == 1 and key in record.asking, "one word on what was asked", (name, entry))
            record.asking.discard(key)
            record.denied |= {key} if entry.data["verdict"] == "denied" else set()
        elif entry.type == "child":
            told = record.begun if entry.data["status"] == "queued" else record.ended
            told[key] += 1
            claim_that(told[key] == 1, "a child begins once, and ends once", (name, entry))
        elif entry.type == "ended":
            record.status = entry.data["status"]

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
        _same_transcript(ended)


BY_THE_CLOCK = ("timeout", "no_answer_from_person")
"""Limits that an undisturbed run may keep."""


def _look_at_budgets(position: Conversation) -> None:
    limits, closing = position.spec.limits, position.closing is not None
    claim_that(position.turn <= limits.max_turns + closing, "10: one turn beyond the limit", position.id)
    calls = limits.max_tool_calls
    claim_that(calls is None or calls_made(position) <= calls, "10: no call beyond the limit", position.id)
    own = position.usage.output_tokens - sum(child.usage.output_tokens for child in position.children)
    most = limits.max_output_tokens
    claim_that(
        most is None or own < most + REPLY_TOKENS * (1 + closing), "10: cost <= budget + one turn", position.id
    )
    out = sum(run.sends > 0 for run in position.out)
    claim_that(out <= PARALLEL, "few calls are out at once", (position.id, out))


def _same_transcript(ended: Conversation) -> None:
    """9, up to where it was cut short, and but for calls that were lost with their worker."""
    calm = undisturbed(ended.spec)
    budget = any(most is not None for most in (ended.spec.limits.max_tool_calls, ended.spec.limits.max_output_tokens))
    cut = closing_message(ended.closing) if ended.closing and ended.closing.code in BY_THE_CLOCK else None
    fates = {run.tool_call_id: run.status for run in ended.runs}
    for told, expected in zip(ended.messages, calm.messages, strict=False):
        excused = told.role == "tool" and fates[told.tool_call_id or ""] in ("lost", "cancelled")
        # A parent that was paused has more time than the child that it waits for.
        excused |= told.role == "tool" and '"child_expired"' in (told.content or "")
        if told == cut or (excused and budget and told != expected):
            return  # what it was spared, or its child was, is there for the next turns
        same = told == expected or (excused and told.tool_call_id == expected.tool_call_id)
        claim_that(same, "9: the transcript of an undisturbed run", (ended.id, told, expected))
    whole = ended.status == calm.status and ended.error == calm.error
    claim_that(
        whole or ended.status in ("cancelled", "expired"), "9: the end of an undisturbed run", (ended.id, ended.error)
    )
    missing = [message.role for message in calm.messages[len(ended.messages) :]]
    last_turn = ended.closing is not None and missing.count("assistant") == 1
    claim_that(not whole or not missing or last_turn, "9: as long as an undisturbed run", ended.id)
    claim_that(ended.status != "completed" or ended.answer == calm.answer, "9: the answer", ended.id)
