"""When a conversation must be looked at next, and what a look finds (pure)."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from skillfleet_workers.wire.calls import CallRecord
from skillfleet_workers.wire.shown import shown_to_model

from ..subagents.mailbox import Mail
from .looks import look_at_end, looks_at_children, news_of_children, waits_over
from .lost_calls import no_worker
from .mail_looks import mail_dues, mail_news
from .models import Conversation
from .moves import (
    BackoffOver,
    CancelRequested,
    DeadlinePassed,
    Decided,
    Event,
    Paused,
    Resumed,
    Submitted,
    TimeShort,
    ToolFailed,
    ToolFinished,
    ToolHandedBack,
    ToolLost,
    ToolUnstarted,
)
from .runs import Decision, ToolRun

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
QUEUE_TIMEOUT_S = 120.0
"""A call that only some workers can run is given up when none of them has been there for this long."""

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


@dataclass(frozen=True, slots=True)
class Rooms:
    """Most calls that may have a place in a tool queue before a worker starts them. `routes`: of each route that a
    live worker serves; None: who serves which is not known yet."""

    default: int = LEAST_ROOM
    routes: Mapping[str, int] | None = None

    def of(self, route: str) -> int:
        return (self.routes or {}).get(route, 0) if route else self.default

    @property
    def told(self) -> str:
        """ROOM(,ROUTE=ROOM)*"""
        return ",".join([str(self.default), *(f"{route}={room}" for route, room in (self.routes or {}).items())])


LEAST_ROOMS = Rooms()


@dataclass(frozen=True, slots=True)
class Unserved:
    """A call that no live worker serves the route of: `since` when (seconds since the epoch), as far as is known, and
    `why` none can run it. `moved`: others can run it by now."""

    since: float
    why: str = ""
    moved: bool = False


Records = Mapping[str, CallRecord]


@dataclass(frozen=True, slots=True)
class Sight:
    """What a look goes by besides the records. `listening_since`: when redis could last be reached again; before it,
    silence proves nothing. `empty_queues`: the routes whose tool queue is empty. `overtaken_at`: as in the Claim.
    `unserved`: calls, by their keys. `lost_after_s`: see the function. `snapshot`: the id of the skills that it
    begins with, empty: not known, None: because there is no worker. `mailbox`: as in the Claim; `listening`: the
    calls that listened by then."""

    now: float
    cancel: bool = False
    pause: bool = False
    empty_queues: Collection[str] = ()
    listening_since: float = 0.0
    overtaken_at: Mapping[str, float] = field(default_factory=dict)
    unserved: Mapping[str, Unserved] = field(default_factory=dict)
    lost_after_s: float = LOST_AFTER_S
    snapshot: str | None = ""
    queue_timeout_s: float = QUEUE_TIMEOUT_S
    mailbox: Sequence[Mail] = ()
    listening: Collection[str] = ()

    def lost_at(self, record: CallRecord) -> float:
        return max(record.beat_at, self.listening_since) + self.lost_after_s

    def has_lost_message(self, run: ToolRun, record: CallRecord) -> bool:
        """Of a call that has a place: it would have been started by now, were it still there."""
        overtaken_at = self.overtaken_at.get(run.route, 0.0)
        return run.route in self.empty_queues or record.sent_at + OVERTAKEN_S < overtaken_at

    def given_up_at(self, run: ToolRun, unserved: Unserved) -> float:
        return max(run.sent_at, unserved.since) + self.queue_timeout_s


def observe(conversation: Conversation, records: Records, sight: Sight) -> list[Event]:
    """Everything that has happened since the last look, results first: what came in time counts."""
    events = list(_control(conversation, sight))
    for run in conversation.out:
        record = records.get(run.key)
        if run.asks:
            events += _word_on(run, record)
        elif run.retry_at is not None and sight.now >= run.retry_at + conversation.paused_s:
            events.append(BackoffOver(run.key))
        elif run.awaits or not run.sends:
            continue
        elif not sight.pause and conversation.status == "paused" and not _started(run, record):
            # Its message may have come to a worker meanwhile, which was told to leave it.
            events.append(ToolUnstarted(run.key))
        elif record is not None:
            events += _news_of(run, record, sight)
    events += news_of_children(conversation, records)
    if not sight.pause:
        events += waits_over(conversation, sight.now)
    events += mail_news(conversation, records, sight.mailbox, sight.now)
    if sight.cancel:
        events.append(CancelRequested())
    heard = any(isinstance(event, Decided) for event in events)  # in time, since when it is given another deadline
    if not (sight.pause or heard):
        events += _times_up(conversation, sight.now)
    return events


def _times_up(conversation: Conversation, now: float) -> Iterator[Event]:
    if now >= conversation.deadline:
        yield DeadlinePassed()
    elif now >= conversation.closes_at:
        yield TimeShort()


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


def awaited_queues(conversation: Conversation, records: Records) -> set[str]:
    """The routes of the calls that are out, have a place in the tool queue, and that no worker has started yet."""
    found = ((run, records.get(run.key)) for run in conversation.with_workers)
    return {run.route for run, record in found if record and record.sent_at and not _started(run, record)}


def next_due(conversation: Conversation, records: Records, sight: Sight) -> float | None:
    """Seconds since the epoch; None when it has ended. While calls are out: the earliest moment at which one
    must be looked at. Results make it due at once, from the worker's side."""
    if conversation.terminal:
        return None
    if conversation.ending:
        return look_at_end(conversation, records, sight.now)
    if conversation.status == "paused":
        return sight.now + PAUSED_LOOK_S
    if conversation.status == "queued":
        return sight.now + WORKER_LOOK_S
    if not conversation.out:
        return sight.now
    looks = [_look_at(run, records.get(run.key), sight) for run in conversation.with_workers]
    looks += looks_at_children(conversation, records, sight.now)
    looks += mail_dues(conversation, sight.listening, sight.now)
    looks += (run.retry_at + conversation.paused_s for run in conversation.backing_off if run.retry_at is not None)
    return min([conversation.closes_at, *looks])


def _word_on(run: ToolRun, record: CallRecord | None) -> Iterator[Event]:
    if record is not None and record.decision:
        yield Decided(run.key, Decision.model_validate_json(record.decision))


def _news_of(run: ToolRun, record: CallRecord, sight: Sight) -> Iterator[Event]:
    done = record.result
    if done is not None:
        told = (done.status, done.shown, done.worker, done.runtime, done.ms, done.tools, done.used, done.governing)
        yield ToolFinished(run.key, *told, done.artifacts, record.attempt)
    elif record.failed >= run.ref.attempt:
        yield ToolFailed(run.key, record.failures)
    elif record.lost >= run.ref.attempt:
        yield ToolLost(run.key, record.effects, record.said)
    elif record.returned >= run.ref.attempt:
        yield ToolHandedBack(run.key, record.effects)
    elif _started(run, record):
        if sight.now >= sight.lost_at(record):
            yield ToolLost(run.key, record.effects)
    elif unserved := sight.unserved.get(run.key):
        yield from _news_of_unserved(run, unserved, sight)
    elif record.sent_at and sight.now >= _resend_at(run, record, sight.has_lost_message(run, record)):
        yield ToolUnstarted(run.key)


def _news_of_unserved(run: ToolRun, unserved: Unserved, sight: Sight) -> Iterator[Event]:
    """Its message is not missed: nobody would have taken it."""
    if unserved.moved:
        yield ToolUnstarted(run.key)
    elif sight.now >= sight.given_up_at(run, unserved):
        error = no_worker(run, unserved.why, sight.now - run.sent_at)
        yield ToolFinished(run.key, "tool_error", shown_to_model(error))


def _look_at(run: ToolRun, record: CallRecord | None, sight: Sight) -> float:
    now = sight.now
    if record is not None and _started(run, record):
        return max(sight.lost_at(record), now + SOONEST_LOOK_S)
    if unserved := sight.unserved.get(run.key):
        return max(now + SOONEST_LOOK_S, min(sight.given_up_at(run, unserved), now + PLACED_LOOK_S))
    if record is None or not record.sent_at:
        # It waits for its turn, and is looked at more and more seldom: half as long again as it has waited; but the
        # workers of its route may all go meanwhile.
        longest_s = sight.queue_timeout_s / 2 if run.route else math.inf
        return now + max(WAITING_LOOK_S, min(longest_s, (now - run.sent_at) / 2))
    pause_s = min(PLACED_LOOK_S, max(RESEND_AFTER_S, (now - record.sent_at) / 2))
    return max(_resend_at(run, record, True), now + pause_s)


def _started(run: ToolRun, record: CallRecord | None) -> bool:
    return record is not None and record.attempt >= run.ref.attempt


def _resend_at(run: ToolRun, record: CallRecord, lost_message: bool) -> float:
    """Later and later, so that a queue is never made longer by a storm of copies; for a lost message not much."""
    doubled = 2.0 ** (run.sends - 1)
    return record.sent_at + (min(PLACED_LOOK_S, RESEND_AFTER_S * doubled) if lost_message else RESEND_CAP_S * doubled)
