"""What a look finds for calls that send messages, or wait for some, and when one is due (pure)."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from skillfleet_workers.wire.calls import CallRecord

from ..subagents.mailbox import Delivered, Mail, pick
from ..tools.own import MESSAGING
from .models import Conversation
from .moves import MailCame, Posted, Unposted, WaitOver
from .runs import ToolRun

UNPOSTED_S = 2.0
"""What a call sends goes out when its turn is stored; where the ledger knows nothing of it after this long, whoever
was to send it has died."""

_MESSAGING = {own.tool for own in MESSAGING}


def mail_news(
    conversation: Conversation, records: Mapping[str, CallRecord], mailbox: Sequence[Mail], now: float
) -> Iterator[MailCame | WaitOver | Posted | Unposted]:
    """No two calls are given the same message."""
    left = list(mailbox)
    for run in _begun(conversation):
        if run.listens is None:
            yield from _word_of_ledger(run, records.get(run.key), now)
        elif taken := pick(left, run.listens, now):
            places = {mail.place for mail in taken}
            left = [mail for mail in left if mail.place not in places]
            yield MailCame(run.key, taken)
        elif now >= _until(conversation, run):
            yield WaitOver(run.key)


def mail_dues(conversation: Conversation, seen: Collection[str], now: float) -> Iterator[float]:
    """`seen`: the calls for which the mailbox was looked into. Whatever comes in later makes it due at once."""
    for run in _begun(conversation):
        if run.listens is None:
            yield run.sent_at + UNPOSTED_S
        else:
            yield _until(conversation, run) if run.key in seen else now


def _begun(conversation: Conversation) -> Iterator[ToolRun]:
    return (run for run in conversation.out if run.begun and run.name in _MESSAGING)


def _until(conversation: Conversation, run: ToolRun) -> float:
    return (run.until or 0.0) + conversation.paused_s


def _word_of_ledger(run: ToolRun, record: CallRecord | None, now: float) -> Iterator[Posted | Unposted]:
    if record is not None and record.posted:
        yield Posted(run.key, Delivered.parse(record.posted))
    elif now >= run.sent_at + UNPOSTED_S:
        yield Unposted(run.key)
