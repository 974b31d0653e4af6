"""Removing what ended long ago."""

from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from itertools import pairwise

from sqlalchemy import Connection, Select, delete, select

from .answers import Pruned
from .counting import Key, Sum, lock, put
from .database import History
from .moments import day_of
from .spans import SPANS, span_start
from .tables import conversations, executions, messages, turns
from .tables import execution_stats as stats

BATCH = 200
"""Conversations that are removed in one transaction: whoever writes besides waits no longer than it takes."""


def prune(history: History, before: datetime, *, statistics: bool = False) -> Pruned:
    """Conversations that ended before, each with its turns, executions and messages; and `statistics`: what was
    counted on days before.

    Raises:
        HistoryError
    """
    pruned = sum(_batches(history, before), Pruned())
    if statistics:
        with history.writing() as connection:
            pruned += Pruned(statistics=_prune_stats(connection, day_of(before)))
    return pruned


def _batches(history: History, before: datetime) -> Iterator[Pruned]:
    full = True
    while full:
        with history.writing() as connection:
            ended = list(connection.scalars(_ended(before)))
            yield _remove(connection, ended)
        full = len(ended) == BATCH


def _ended(before: datetime) -> Select[str]:
    ended_at = conversations.c.completed_at
    oldest = select(conversations.c.agent_id).where(ended_at < before).order_by(ended_at).limit(BATCH)
    return oldest.with_for_update(skip_locked=True)  # by another who prunes


def _remove(connection: Connection, ids: Sequence[str]) -> Pruned:
    if not ids:
        return Pruned()
    connection.execute(delete(turns).where(turns.c.agent_id.in_(ids)))
    return Pruned(
        executions=connection.execute(delete(executions).where(executions.c.agent_id.in_(ids))).rowcount,
        # Those of a tree go with its root, which ends last.
        messages=connection.execute(delete(messages).where(messages.c.root_id.in_(ids))).rowcount,
        conversations=connection.execute(delete(conversations).where(conversations.c.agent_id.in_(ids))).rowcount,
    )


def _prune_stats(connection: Connection, before: date) -> int:
    lock(connection)
    removed = connection.execute(delete(stats).where(stats.c.day < before)).rowcount
    for shorter, span in pairwise(SPANS):
        start = span_start(span, before)
        if start < before:
            put(connection, _summed_up(connection, shorter, span, start))
    return removed


def _summed_up(connection: Connection, shorter: int, span: int, start: date) -> dict[Key, Sum]:
    """A span that days were taken from, made anew of the shorter ones that are left."""
    sums: dict[Key, Sum] = {}
    parts = select(stats).where(stats.c.span == shorter, stats.c.day.between(start, start + timedelta(span - 1)))
    for row in connection.execute(parts).mappings():
        sums.setdefault((row["tenant"], span, start, row["skill_name"], row["skill_version"]), Sum()).add(row)
    return sums
