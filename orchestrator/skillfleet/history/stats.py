"""What the executions of a skill came to, and how long they took: from sums, however many they were."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, or_, select

from .answers import SkillStats
from .asked import Asked
from .buckets import middle_of
from .counting import Sum
from .moments import day_of
from .spans import ALL_TENANTS, stretches
from .tables import execution_stats as told


def skill_stats(connection: Connection, asked: Asked) -> tuple[SkillStats, ...]:
    """Those of the most executions first."""
    sums: dict[tuple[str, str], Sum] = {}
    for row in connection.execute(stats_query(asked)).mappings():
        sums.setdefault((row["skill_name"], row["skill_version"]), Sum()).add(row)
    most_first = sorted(sums.items(), key=lambda item: (-item[1].count, item[0]))
    return tuple(_stats(*skill, found) for skill, found in most_first)


def stats_query(asked: Asked) -> Select[Any]:
    tenant = ALL_TENANTS if asked.tenant is None else asked.tenant
    wanted = {told.c.tenant: tenant, told.c.skill_name: asked.skill, told.c.skill_version: asked.version}
    first = day_of(asked.since) if asked.since else None
    last = day_of(asked.until) if asked.until else None
    fitting: list[ColumnElement[bool]] = [column == value for column, value in wanted.items() if value is not None]
    days = (and_(told.c.span == one.span, told.c.day.between(one.first, one.last)) for one in stretches(first, last))
    return select(told).where(*fitting, or_(*days))


def _stats(skill: str, version: str, found: Sum) -> SkillStats:
    durations = sorted((int(bucket), number) for bucket, number in found.durations.items())
    p50, p95 = (round(_percentile(durations, of_100), 3) for of_100 in (50, 95))
    return SkillStats(
        skill_name=skill, skill_version=version, count=found.count, failed=found.failed, timeout=found.timeout,
        p50_ms=p50, p95_ms=p95,
    )  # fmt: skip


def _percentile(durations: Sequence[tuple[int, int]], of_100: int) -> float:
    """Milliseconds, by the nearest rank."""
    rank, total = 0, sum(number for _, number in durations)
    for bucket, number in durations:
        rank += number
        if rank * 100 >= total * of_100:
            return middle_of(bucket)
    return 0.0
