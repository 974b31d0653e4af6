"""Removing what ended long ago."""

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from datetime import date, datetime, timedelta

from sqlalchemy import Connection, Select, delete, func, insert, literal, select, text

from .columns import day_of
from .database import History
from .spans import ALL_TENANTS, SPANS, span_start, spans_of
from .tables import conversations, execution_stats, executions, messages, turns

BATCH = 200
"""Conversations that are removed in one transaction: whoever writes besides waits no longer than it takes."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many rows were removed."""

    conversations: int = 0
    executions: int = 0
    messages: int = 0
    stats: int = 0

    def __add__(self, other: "Pruned") -> "Pruned":
        return Pruned(*map(sum, zip(astuple(self), astuple(other), strict=True)))


def prune(history: History, before: datetime, *, stats: bool = False) -> Pruned:
    """Conversations that ended before, each with its turns, executions and messages; and `stats`: what was counted on
    days before.

    Raises:
        HistoryError
    """
    pruned = sum(_batches(history, before), Pruned())
    if stats:
        with history.writing() as connection:
            pruned += Pruned(stats=_prune_stats(connection, day_of(before)))
    return pruned


def _batches(history: History, before: datetime) -> Iterator[Pruned]:
    full = True
    while full:
        with history.writing() as connection:
            ended = connection.scalars(_ended(before)).all()
            yield _remove(connection, ended)
        full = len(ended) == BATCH


def _ended(before: datetime) -> Select[tuple[str]]:
    ended_at = conversations.c.completed_at
    oldest = select(conversations.c.agent_id).where(ended_at < before).order_by(ended_at).limit(BATCH)
    return oldest.with_for_update(skip_locked=True)  # by another who prunes


def _remove(connection: Connection, ids: "list[str] | tuple[str, ...]") -> Pruned:
    if not ids:
        return Pruned()
    connection.execute(delete(turns).where(turns.c.agent_id.in_(ids)))
    return Pruned(
        executions=connection.execute(delete(executions).where(executions.c.agent_id.in_(ids))).rowcount,
        # Those of a tree go with its root, which ends last.
        messages=connection.execute(delete(messages).where(messages.c.root_id.in_(ids))).rowcount,
        conversations=connection.execute(delete(conversations).where(conversations.c.agent_id.in_(ids))).rowcount,
    )
