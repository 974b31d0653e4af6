"""Executions that have ended, added to the statistics."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

from sqlalchemy import Connection, RowMapping, select, text, tuple_

from .buckets import bucket_of
from .moments import day_of
from .spans import cells_of
from .tables import execution_stats as stats
from .upserts import upsert

KEY = tuple(column.name for column in stats.primary_key)
Key = tuple[Any, ...]
AT_ONCE = 500
"""Rows that one statement asks for."""


@dataclass(slots=True)
class Sum:
    """`durations`: how many took how long, by the bucket's number, which is text as in JSON."""

    count: int = 0
    failed: int = 0
    timeout: int = 0
    durations: dict[str, int] = field(default_factory=dict)

    def add(self, row: Mapping[str, Any] | RowMapping) -> None:
        self.count += row["count"]
        self.failed += row["failed"]
        self.timeout += row["timeout"]
        known, get = self.durations, self.durations.get
        for bucket, number in row["durations"].items():
            known[bucket] = get(bucket, 0) + number


def count(connection: Connection, ended: Iterable[Mapping[str, Any]]) -> None:
    """Of rows of executions that have just ended. To be the last that a transaction writes: on PostgreSQL all who
    count wait for one another."""
    sums = sums_of(ended)
    if not sums:
        return
    lock(connection)
    keys = iter(sums)
    while some := list(islice(keys, AT_ONCE)):
        there = select(stats).where(tuple_(*stats.primary_key).in_(some))
        for row in connection.execute(there).mappings():
            sums[tuple(row[name] for name in KEY)].add(row)
    put(connection, sums)


def sums_of(ended: Iterable[Mapping[str, Any]]) -> dict[Key, Sum]:
    sums: dict[Key, Sum] = {}
    for row in ended:
        bucket = str(bucket_of(row["duration_ms"] or 0))
        one = {"count": 1, "failed": 0, "timeout": 0, "durations": {bucket: 1}} | {row["status"]: 1}
        for cell in cells_of(row["tenant"], day_of(row["completed_at"])):
            key = (cell.tenant, cell.span, cell.day, row["skill_name"], row["skill_version"])
            sums.setdefault(key, Sum()).add(one)
    return sums


def lock(connection: Connection) -> None:
    """SQLite has but one writer anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"LOCK TABLE {stats.name} IN SHARE ROW EXCLUSIVE MODE"))


def put(connection: Connection, sums: Mapping[Key, Sum]) -> None:
    """In place of what is there."""
    if not sums:
        return
    upsert(connection, stats, as_rows(sums))


def as_rows(sums: Mapping[Key, Sum]) -> Iterator[dict[str, Any]]:
    return (dict(zip(KEY, key, strict=True)) | asdict(found) for key, found in sums.items())
