"""When a conversation must be looked at next, and what a look finds (pure)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from skillfleet_workers.wire.calls import CallRecord

from .models import Conversation, ToolRun
from .moves import (
    CancelRequested,
    ChildAwaited,
    ChildFinished,
    DeadlinePassed,
    Event,
    Paused,
    Resumed,
    Submitted,
    ToolFailed,
    ToolFinished,
    ToolHandedBack,
    ToolLost,
    ToolUnstarted,
)

RECOVERY_S = 10.0
"""Whatever dies, its conversations go on within this long, seconds: what follows is made of it."""


def lease_s(recovery_s: float) -> float:
    """How long a claimed conversation stays with its orchestrator without a sign of life."""
    return 0.6 * recovery_s


def lost_after_s(recovery_s: float) -> float:
    """A started call whose worker has not proved its life for this long is lost. Workers prove it every second, and
    may be late once."""
    return max(2.1, 0.6 * recovery_s)


LOST_AFTER_S = lost_after_s(RECOVERY_S)
SOONEST_LOOK_S = 0.5
RESEND_AFTER_S = 2.0
"""A call that has had a place in the tool queue for this long, and whose message is nowhere, has lost it."""

RESEND_CAP_S = 60.0
PLACED_LOOK_S = 5.0
"""Longest time between two looks at a call that has a place in the tool queue: they are few."""

WAITING_LOOK_S = 10.0
CHILD_LOOK_S = 5.0
"""After this long a call looks whether its child has begun; then more and more seldom whether somebody serves it."""

CHILD_LOOK_CAP_S = 60.0
OVERTAKEN_S = 2.0
"""Calls are started in the order in which they were given their places, but for this much: who gives them places may
be slow to send them."""

WORKER_WAIT_S = 5.0
"""What is younger than this, where no worker is known, does not begin yet: they start side by side."""

WORKER_LOOK_S = 0.25
PAUSED_LOOK_S = 3600.0
"""What is paused waits for a person; results and `resume` make it due at once."""

LEAST_ROOM = 4
QUEUED_S = 0.25
FEWEST_PER_SLOT, MOST_PER_SLOT = 2, 8


def room_for(slots: int, call_s: float) -> int:
    """Places in the tool queue, where workers have so many slots: so many that none runs dry, and few, since there
    nobody's turn counts. Quick calls have more: they are soon gone, and to release each by itself costs about as much
    as one of them."""
    per_slot = QUEUED_S / call_s if call_s > 0 else MOST_PER_SLOT
    return max(LEAST_ROOM, int(slots * min(MOST_PER_SLOT, max(FEWEST_PER_SLOT, per_slot))))


Records = Mapping[str, CallRecord]


@dataclass(frozen=True, slots=True)
class Sight:
    """What a look goes by besides the records. `listening_since`: when redis could last be reached again; before it,
    silence proves nothing. `overtaken_at`: as in the Claim. `lost_after_s`: see the function. `snapshot`: the id of
    the skills that it begins with, empty: not known, None: because there is no worker."""

    now: float
    cancel: bool = False
    pause: bool = False
    queue_empty: bool = False
    listening_since: float = 0.0
    overtaken_at: float = 0.0
    lost_after_s: float = LOST_AFTER_S
    snapshot: str | None = ""

    def lost_at(self, record: CallRecord) -> float:
        return max(record.beat_at, self.listening_since) + self.lost_after_s

    def has_lost_message(self, record: CallRecord) -> bool:
        """Of a call that has a place: it would have been started by now, were it still there."""
        return self.queue_empty or record.sent_at + OVERTAKEN_S < self.overtaken_at


def observe(conversation: Conversation, records: Records, sight: Sight) -> list[Event]:
    """Everything that has happened since the last look, results first: what came in time counts."""
    events = list(_control(conversation, sight))
    for run in conversation.out:
        record = records.get(run.key)
        if not sight.pause and conversation.status == "paused" and not _started(run, record):
            # Its message may have come to a worker meanwhile, which was told to leave it.
            events.append(ToolUnstarted(run.key))
        elif record is not None:
            events += _news_of(run, record, sight)
    if sight.cancel:
        events.append(CancelRequested())
    if sight.now >= conversation.deadline and not sight.pause:
        events.append(DeadlinePassed())
    return events


def _control(conversation: Conversation, sight: Sight) -> Iterator[Event]:
    """First of all: what follows is then seen by a conversation that is paused, or no longer."""
    if sight.pause and conversation.status != "paused":
        yield Paused()
    elif conversation.status == "paused" and not sight.pause:
        yield Resumed()
    elif conversation.status == "queued" and not _waits_for_workers(conversation, sight):
        yield Submitted(sight.snapshot or "")


def _waits_for_workers(conversation: Conversation, sight: Sight) -> bool:
    return sight.snapshot is None and sight.now < conversation.spec.created_at + WORKER_WAIT_S


def awaits_start(conversation: Conversation, records: Records) -> bool:
    """Whether a call is out that has a place in the tool queue, and that no worker has started yet."""
    found = ((run, records.get(run.key)) for run in conversation.with_workers)
    return any(record is not None and record.sent_at and not _started(run, record) for run, record in found)


def next_due(conversation: Conversation, records: Records, sight: Sight) -> float | None:
    """Seconds since the epoch; None when it has ended. While calls are out: the earliest moment at which one
    must be looked at. Results make it due at once, from the worker's side."""
    if conversation.terminal:
        return None
    if conversation.status == "paused":
        return sight.now + PAUSED_LOOK_S
    if conversation.status == "queued":
        return sight.now + WORKER_LOOK_S
    if not conversation.out:
        return sight.now
    looks = [_look_at(run, records.get(run.key), sight) for run in conversation.out]
    return min(conversation.deadline, *looks)


def _news_of(run: ToolRun, record: CallRecord, sight: Sight) -> Iterator[Event]:
    done = record.result
    if run.child and record.child is not None:
        yield ChildFinished(run.key, record.child.status, record.child.shown)
    elif run.child and done is not None:
        yield ChildAwaited(run.key, done.shown, done.tools)
    elif done is not None:
        told = (done.status, done.shown, done.worker, done.runtime, done.ms, done.tools, done.used, done.governing)
        yield ToolFinished(run.key, *told)
    elif record.failed >= run.ref.attempt:
        yield ToolFailed(run.key)
    elif record.lost >= run.ref.attempt:
        yield ToolLost(run.key, record.effects, record.said)
    elif record.returned >= run.ref.attempt:
        yield ToolHandedBack(run.key, record.effects)
    elif _started(run, record):
        if sight.now >= sight.lost_at(record):
            yield ToolLost(run.key, record.effects)
    elif record.sent_at and sight.now >= _resend_at(run, record, sight.has_lost_message(record)):
        yield ToolUnstarted(run.key)


def _look_at(run: ToolRun, record: CallRecord | None, sight: Sight) -> float:
    now = sight.now
    if run.child:
        begun = record is not None and record.begun
        return now + min(CHILD_LOOK_CAP_S, max(CHILD_LOOK_S, (now - run.sent_at) / 2 if begun else 0.0))
    if record is not None and _started(run, record):
        return max(sight.lost_at(record), now + SOONEST_LOOK_S)
    if record is None or not record.sent_at:
        # It waits for its turn, and is looked at more and more seldom: half as long again as it has waited.
        return now + max(WAITING_LOOK_S, (now - run.sent_at) / 2)
    pause_s = min(PLACED_LOOK_S, max(RESEND_AFTER_S, (now - record.sent_at) / 2))
    return max(_resend_at(run, record, True), now + pause_s)


def _started(run: ToolRun, record: CallRecord | None) -> bool:
    return record is not None and record.attempt >= run.ref.attempt


def _resend_at(run: ToolRun, record: CallRecord, lost_message: bool) -> float:
    """Later and later, so that a queue is never made longer by a storm of copies; for a lost message not much."""
    doubled = 2.0 ** (run.sends - 1)
    return record.sent_at + (min(PLACED_LOOK_S, RESEND_AFTER_S * doubled) if lost_message else RESEND_CAP_S * doubled)
