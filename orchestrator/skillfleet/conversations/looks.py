"""What a look finds of a conversation's children, and when it must look at them again (pure)."""

from collections.abc import Iterator, Mapping

from skillfleet_workers.wire.calls import CallRecord, CallResult

from ..subagents.models import ChildRun
from .limits import Limits, Usage
from .models import Conversation
from .moves import ChildAwaited, ChildBegun, ChildFinished, Event, WaitOver

CHILD_LOOK_S = 5.0
"""After this long a parent looks whether its child has begun; then, more and more seldom, whether it is served."""

CHILD_LOOK_CAP_S = 60.0


def news_of_children(conversation: Conversation, records: Mapping[str, CallRecord]) -> Iterator[Event]:
    for child in conversation.open_children:
        yield from _news(child, records.get(child.key))
    for child in conversation.children:
        record = records.get(child.key)
        if child.leaving and not (record and record.begun):
            yield ChildFinished(child.key, "tool_error", "", ended="cancelled", begun=False)
        elif child.leaving and record and record.child:
            yield _finished(child, record.child)


def _news(child: ChildRun, record: CallRecord | None) -> Iterator[Event]:
    if record is not None and record.child is not None:
        yield _finished(child, record.child)
    elif record is not None and record.begun:
        if not child.begun:
            yield ChildBegun(child.key)
    elif child.request:
        yield ChildAwaited(child.key)
    elif record is not None and record.result is not None:
        yield ChildAwaited(child.key, record.result.shown, record.result.tools)


def _finished(child: ChildRun, ended: CallResult) -> ChildFinished:
    usage, kept = Usage.model_validate(ended.usage), Limits.model_validate(ended.kept) if ended.kept else None
    told = (ended.status, ended.shown, ended.artifacts, usage, ended.calls, ended.ended)
    return ChildFinished(child.key, *told, kept)


def waits_over(conversation: Conversation, now: float) -> Iterator[Event]:
    """Of the calls that wait for children."""
    for run in conversation.with_children:
        if run.until is not None and now >= run.until + conversation.paused_s:
            yield WaitOver(run.key)


def look_at_end(conversation: Conversation, records: Mapping[str, CallRecord], now: float) -> float:
    """Of one that is ending: at once where it is not known whether a child has begun, which from now on cannot; the
    end of one that has makes it due."""
    known = (records.get(child.key) for child in conversation.leaving)
    return now + CHILD_LOOK_S if all(record and record.begun for record in known) else now


def looks_at_children(conversation: Conversation, records: Mapping[str, CallRecord], now: float) -> Iterator[float]:
    since = {run.key: run.sent_at for run in conversation.with_children}
    for child in conversation.open_children:
        record = records.get(child.key)
        begun_s = now - since.get(child.key, 0.0) if record is not None and record.begun else 0.0
        yield now + min(CHILD_LOOK_CAP_S, max(CHILD_LOOK_S, begun_s / 2))
    for run in conversation.with_children:
        if run.until is not None:
            yield run.until + conversation.paused_s
