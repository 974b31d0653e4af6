"""What redis is to the other ledger, in memory: the ledgers of both sides share one."""

import json
import math
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from skillfleet_workers.wire.calls import CallRecord
from skillfleet_workers.wire.keys import LIVE_ENTRIES, LIVE_S, LIVE_WORDS, MESSAGES_KEPT

from ..events import Entry, EventType, LiveTold, LiveType
from ..subagents.mailbox import AgentMessage, Delivered
from .fair import FIRST, FairQueue, Rank
from .messages import Message
from .models import Conversation, ConversationSpec
from .runs import ToolRun

MAX_BELLS = 64
MAX_CALLED_OFF = 64


@dataclass(slots=True)
class Kept:
    """One conversation. `position` is without messages: those stand in the stream. `news`: the fence under which
    a failure came in that is to be looked at."""

    position: Conversation
    fence: int = 0
    held: int = -1
    """The fence of the last claim: as long as it is the newest, somebody holds it."""
    cancel: bool = False
    pause: float | None = None
    """Since when; None when it is not to be paused."""
    paused_with: bool = False
    """It is because its parent is."""
    entries: list[Entry] = field(default_factory=list)
    live: deque[Entry] = field(default_factory=deque)
    live_told: int = 0
    live_until: float = 0.0
    calls: dict[str, CallRecord] = field(default_factory=dict)
    expires_at: float = math.inf
    news: int = -1
    mailbox: dict[str, AgentMessage] = field(default_factory=dict)
    """By place, in the order in which they came."""
    requests: dict[tuple[str, str], float] = field(default_factory=dict)
    """That wait for its answer: by requester and correlation_id, when they expire."""
    format: int = 1

    def ended(self, now: float) -> bool:
        """Or bound to."""
        late = self.pause is None and now >= self.position.deadline
        return self.cancel or self.position.terminal or late

    def is_out(self, key: str) -> bool:
        """And a worker's."""
        return any(run.key == key for run in self.position.with_workers)

    def has_come(self, run: ToolRun) -> bool:
        """The result of the call, or of the child that works on it."""
        record = self.calls.get(run.key)
        return record is not None and (record.child if run.child else record.result) is not None

    def all_in(self) -> bool:
        out = self.position.with_workers
        return bool(out) and all(run.key in self.calls and self.calls[run.key].result for run in out)

    def conversation(self) -> Conversation:
        messages = tuple(Message.model_validate(entry.data) for entry in self.entries if entry.type == "message")
        return self.position.model_copy(update={"messages": messages})


@dataclass(slots=True)
class CallPlaces:
    """The tool queue of one route. `waiting`: the ids of calls that wait for a place in it; `sent`: of those that
    have one and that no worker has started, by when they got it."""

    waiting: FairQueue = field(default_factory=FairQueue)
    sent: dict[str, float] = field(default_factory=dict)
    mark: float = 0.0


class MemoryStore:
    """What redis is to the other ledger: the ledgers of both sides share one. `clock`: seconds since the epoch.

    Hold `changed` to read or write; it is notified of every entry and every ring of the doorbell.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.clock = clock
        self.changed = threading.Condition()
        self.awake_since = -math.inf
        self.due: dict[str, float] = {}
        """The timers; what is due now is moved from there to `ready`."""
        self.ready = FairQueue()
        self.places: defaultdict[str, CallPlaces] = defaultdict(CallPlaces)
        """By route."""
        self.held: dict[str, dict[str, float]] = {}
        """By tenant, what orchestrators hold, and to when."""
        self.bells = 0
        self.called_off: deque[str] = deque(maxlen=MAX_CALLED_OFF)
        """What went over the control channel, the newest last."""
        self.dead: dict[str, float] = {}
        """Calls that were given up, by when."""
        self.topics: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
        """By the root of a tree: who hears which pattern."""
        self.posted: dict[tuple[str, str], tuple[Delivered, float]] = {}
        """By root and message_id: what became of it, and until when that is known."""
        self.messages: deque[tuple[int, AgentMessage]] = deque(maxlen=MESSAGES_KEPT)
        self.messages_told = 0
        self._kept: dict[str, Kept] = {}
        self._by_key: dict[tuple[str, str], str] = {}

    def keep(self, position: Conversation) -> Kept:
        kept = self._kept[position.id] = Kept(position)
        if key := position.spec.idempotency_key:
            self._by_key[position.spec.tenant, key] = position.id
        return kept

    def holder(self, spec: ConversationSpec) -> Kept | None:
        """The conversation that this one is, or the one of its tenant whose idempotency key it has."""
        return self.find(spec.id) or self.find(self._by_key.get((spec.tenant, spec.idempotency_key), ""))

    def find(self, conversation_id: str) -> Kept | None:
        kept = self._kept.get(conversation_id)
        if kept is not None and self.clock() >= kept.expires_at:
            del self._kept[conversation_id]
            return None
        return kept

    def names(self) -> list[str]:
        """In the order of acceptance."""
        return list(self._kept)

    def tell(self, kept: Kept, kind: EventType, data: dict[str, Any]) -> None:
        seq = len(kept.entries) + 1
        kept.entries.append(Entry(seq, self.clock(), kind, data, str(seq)))
        self.changed.notify_all()

    def tell_live(self, kept: Kept, kind: LiveType, data: dict[str, Any]) -> None:
        kept.live_told += 1
        kept.live_until = self.clock() + LIVE_S
        kept.live.append(Entry(len(kept.entries), self.clock(), kind, data, str(kept.live_told), live=True))
        while len(kept.live) > (LIVE_ENTRIES if kind in ("output", "progress") else LIVE_WORDS):
            kept.live.popleft()
        self.changed.notify_all()

    def tell_words(self, told: Sequence[LiveTold], held: Kept | None) -> bool:
        """Whether they are wanted."""
        if held is None or held.ended(self.clock()):
            return False
        for kind, data in told:
            self.tell_live(held, kind, json.loads(data))
        return True

    def live(self, kept: Kept, after: int) -> list[Entry]:
        """What is still known of what was told live beyond the cursor `after`."""
        if self.clock() >= kept.live_until:
            kept.live.clear()
        return [entry for entry in kept.live if int(entry.cursor) > after]

    def call_off(self, kept: Kept) -> None:
        if kept.position.out:
            self.called_off.append(kept.position.id)

    def bury(self, after: Conversation, most: int) -> None:
        for run in after.dead:
            self.dead.setdefault(run.ref.call_id, self.clock())
        for call_id in list(self.dead)[:-most]:
            del self.dead[call_id]

    def wake(self, conversation_id: str) -> None:
        """From the timers to what is ready."""
        self.due.pop(conversation_id, None)
        kept = self.find(conversation_id)
        if kept is None:
            return
        tenant = kept.position.spec.tenant
        if kept.ended(self.clock()):
            self.ready.withdraw(tenant, conversation_id)
            self.ready.put(FIRST, conversation_id, (self.clock(),))
        else:
            self.ready.put(tenant, conversation_id, self.rank(kept, begun=kept.fence > 0))

    def rank(self, kept: Kept, *, begun: bool) -> Rank:
        """Within its tenant: by priority, then what has begun, then who came first."""
        return (kept.position.spec.priority, not begun, self.clock())

    def not_ready(self, kept: Kept) -> bool:
        name = kept.position.id
        return self.ready.withdraw(FIRST, name) or self.ready.withdraw(kept.position.spec.tenant, name)

    def ring(self, conversation_id: str) -> None:
        self.wake(conversation_id)
        self.ring_bell()

    def ring_bell(self) -> None:
        self.bells = min(MAX_BELLS, self.bells + 1)
        self.changed.notify_all()
