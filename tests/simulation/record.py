"""One accepted conversation, as its stream tells it."""

from collections import Counter
from dataclasses import dataclass, field

from skillfleet.conversations.messages import Message
from skillfleet.conversations.models import TERMINAL
from skillfleet.conversations.plan_runs import SKIPPED
from skillfleet.events import Entry

from .violations import claim_that


@dataclass
class Record:
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
    """The fence of who may write,"""
    claimed_at: float = 0.0
    """and since when;"""
    sent_then: int = 0
    """how many messages had been sent by then."""
    asking: set[str] = field(default_factory=set)
    """Its calls that wait for a person's word."""
    heard: Counter[str] = field(default_factory=Counter)
    denied: set[str] = field(default_factory=set)
    paused_at: float | None = None
    """By people; None: it is not, or goes on."""
    resumed_at: float = 0.0
    cancelled: bool = False

    def paused(self, now: float) -> None:
        self.paused_at = now

    def resumed(self, now: float) -> None:
        self.paused_at, self.resumed_at = None, now

    def fold(self, name: str, entry: Entry) -> None:
        self.seen += 1
        claim_that(entry.seq == self.seen, "4: no gap", (name, entry))
        claim_that(self.status not in TERMINAL, "1: nothing after the terminal event", (name, entry))
        match entry.type:
            case "message":
                self.messages += (Message.model_validate(entry.data),)
            case "turn":
                self.status = "running"
                self.asking.clear()  # who was waited for in vain is waited for no more
            case "paused" | "resumed":
                self.status = "paused" if entry.type == "paused" else "running"
            case "started" | "result":
                self._fold_call(name, entry)
            case "asked" | "decided":
                self._fold_word(name, entry)
            case "child":
                told, key = self.begun if entry.data["status"] == "queued" else self.ended, entry.data["key"]
                told[key] += 1
                claim_that(told[key] == 1, "a child begins once, and ends once", (name, entry))
            case "ended":
                self.status = entry.data["status"]

    def _fold_call(self, name: str, entry: Entry) -> None:
        key = entry.data["key"]
        if entry.type == "result":
            self.results[key] += 1
            if entry.data["status"] == SKIPPED:  # whatever anybody would have said
                self.asking.discard(key)
            claim_that(self.results[key] == 1, "3: one recorded result a call", (name, key))
            return
        self.starts[key] += 1
        claim_that(not self.cancelled, "7: once it is cancelled no call starts", (name, key))
        claim_that(key not in self.asking | self.denied, "no call starts without its leave", (name, key))
        claim_that(self.paused_at is None, "while it is paused no call starts", (name, key))

    def _fold_word(self, name: str, entry: Entry) -> None:
        key = entry.data["key"]
        if entry.type == "asked":
            self.asking.add(key)
            return
        self.heard[key] += 1
        claim_that(self.heard[key] == 1 and key in self.asking, "one word on what was asked", (name, entry))
        self.asking.discard(key)
        self.denied |= {key} if entry.data["verdict"] == "denied" else set()
