"""When a conversation must be looked at next, and what a look finds (pure)."""

from collections.abc import Iterator, Mapping

from skillfleet_workers.wire.calls import CallRecord

from .models import Conversation, ToolRun
from .moves import (
    CancelRequested,
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

LOST_AFTER_S = 8.0
"""A started call whose worker has not proved its life for this long is lost (workers prove it every second)."""

SOONEST_LOOK_S = 0.5
RESEND_AFTER_S = 2.0
RESEND_CAP_S = 60.0
PAUSED_LOOK_S = 3600.0
"""What is paused waits for a person; results and `resume` make it due at once."""

Records = Mapping[str, CallRecord]


def observe(
    conversation: Conversation,
    records: Records,
    *,
    cancel: bool,
    pause: bool = False,
    queue_empty: bool,
    now: float,
    listening_since: float = 0.0,
) -> list[Event]:
    """Everything that has happened since the last look, results first: what came in time counts.

    `listening_since`: when redis could last be reached again; before it, silence proves nothing.
    """
    events = list(_control(conversation, pause))
    for run in conversation.out:
        record = records.get(run.key)
        if not pause and conversation.status == "paused" and not _started(run, record):
            # Its message may have come to a worker meanwhile, which was told to leave it.
            events.append(ToolUnstarted(run.key))
        else:
            events += _news_of(run, record, queue_empty, now, listening_since)
    if cancel:
        events.append(CancelRequested())
    if now >= conversation.deadline and not pause:
        events.append(DeadlinePassed())
    return events


def _control(conversation: Conversation, pause: bool) -> Iterator[Event]:
    """First of all: what follows is then seen by a conversation that is paused, or no longer."""
    if pause and conversation.status != "paused":
        yield Paused()
    elif conversation.status == "paused" and not pause:
        yield Resumed()
    elif conversation.status == "queued":
        yield Submitted()


def awaits_start(conversation: Conversation, records: Records) -> bool:
    """Whether a call is out that no worker has started yet."""
    return any(not _started(run, records.get(run.key)) for run in conversation.out)


def next_due(conversation: Conversation, records: Records, now: float, listening_since: float = 0.0) -> float | None:
    """Seconds since the epoch; None when it has ended. While calls are out: the earliest moment at which one
    must be looked at. Results make it due at once, from the worker's side."""
    if conversation.terminal:
        return None
    if conversation.status == "paused":
        return now + PAUSED_LOOK_S
    if not conversation.out:
        return now
    looks = [_look_at(run, records.get(run.key), now, listening_since) for run in conversation.out]
    return min(conversation.deadline, *looks)


def _news_of(
    run: ToolRun, record: CallRecord | None, queue_empty: bool, now: float, listening_since: float
) -> Iterator[Event]:
    if record is not None and record.result is not None:
        done = record.result
        yield ToolFinished(run.key, done.status, done.shown, done.worker, done.runtime, done.ms, done.tools)
    elif record is not None and record.failed >= run.ref.attempt:
        yield ToolFailed(run.key)
    elif record is not None and record.returned >= run.ref.attempt:
        yield ToolHandedBack(run.key, record.effects)
    elif _started(run, record):
        assert record is not None
        if now >= max(record.beat_at, listening_since) + LOST_AFTER_S:
            yield ToolLost(run.key, record.effects)
    elif now >= _resend_at(run, queue_empty):
        yield ToolUnstarted(run.key)


def _look_at(run: ToolRun, record: CallRecord | None, now: float, listening_since: float) -> float:
    if _started(run, record):
        assert record is not None
        return max(max(record.beat_at, listening_since) + LOST_AFTER_S, now + SOONEST_LOOK_S)
    # A call that waits in a long queue is looked at more and more seldom: half as long again as it has waited.
    return max(_resend_at(run, queue_empty=True), now + max(RESEND_AFTER_S, (now - run.sent_at) / 2))


def _started(run: ToolRun, record: CallRecord | None) -> bool:
    return record is not None and record.attempt >= run.ref.attempt


def _resend_at(run: ToolRun, queue_empty: bool) -> float:
    """Later and later, so that a long queue is never made longer by a storm of copies."""
    doubled = 2.0 ** (run.sends - 1)
    return run.sent_at + (min(RESEND_CAP_S, RESEND_AFTER_S * doubled) if queue_empty else RESEND_CAP_S * doubled)
