"""What the executions of a skill came to, and how long they took: from sums, however many they were."""

from typing import Any

from pydantic import BaseModel, ConfigDict, computed_field
from sqlalchemy import CTE, ColumnElement, Connection, Row, Select, and_, case, func, or_, select

from .asked import Asked
from .buckets import middle_of
from .columns import day_of
from .counting import COUNTED
from .spans import ALL_TENANTS, stretches
from .tables import execution_stats as sums


class SkillStats(BaseModel):
    """Of the executions of one version of a skill that have ended. `p50_ms`, `p95_ms`: half of them, and 95 of 100,
    took no longer; at most 1% away from the truth."""

    model_config = ConfigDict(frozen=True)

    skill_name: str
    skill_version: str
    count: int
    failed: int
    timeout: int
    p50_ms: float
    p95_ms: float

    @computed_field  # type: ignore[prop-decorator]
    @property
    def failure_rate(self) -> float:
        """Of those that failed or took too long."""
        return round((self.failed + self.timeout) / self.count, 6)


def skill_stats(connection: Connection, asked: Asked) -> tuple[SkillStats, ...]:
    """Those of the most executions first."""
    return tuple(map(_stats, connection.execute(stats_query(asked))))


def stats_query(asked: Asked) -> Select[Any]:
    upto = _by_duration(asked)
    total = upto.c.total
    return (
        select(
            upto.c.skill_name,
            upto.c.skill_version,
            *(func.sum(upto.c[name]).label(name) for name in COUNTED),
            func.min(case((upto.c.upto * 100 >= total * 50, upto.c.bucket))).label("p50"),
            func.min(case((upto.c.upto * 100 >= total * 95, upto.c.bucket))).label("p95"),
        )
        .group_by(upto.c.skill_name, upto.c.skill_version)
        .order_by(func.sum(upto.c.count).desc(), upto.c.skill_name, upto.c.skill_version)
    )


def _by_duration(asked: Asked) -> CTE:
    """For each bucket: how many are in it, how many took no longer (`upto`), and how many there are (`total`)."""
    skill = (sums.c.skill_name, sums.c.skill_version)
    counted = [func.sum(sums.c[name]) for name in COUNTED]
    return (
        select(
            *skill,
            sums.c.bucket,
            *(number.label(name) for number, name in zip(counted, COUNTED, strict=True)),
            func.sum(counted[0]).over(partition_by=skill, order_by=sums.c.bucket).label("upto"),
            func.sum(counted[0]).over(partition_by=skill).label("total"),
        )
        .where(*_fitting(asked))
        .group_by(*skill, sums.c.bucket)
        .cte("by_duration")
    )


def _fitting(asked: Asked) -> list[ColumnElement[bool]]:
    tenant = ALL_TENANTS if asked.tenant is None else asked.tenant
    wanted = {sums.c.tenant: tenant, sums.c.skill_name: asked.skill, sums.c.skill_version: asked.version}
    first = day_of(asked.since) if asked.since else None
    last = day_of(asked.until) if asked.until else None
    days = [
        and_(sums.c.span == one.span, sums.c.day.between(one.first, one.last))
        for one in stretches(tenant, first, last)
    ]
    return [column == value for column, value in wanted.items() if value is not None] + [or_(*days)]


def _stats(row: Row[Any]) -> SkillStats:
    found = row._asdict()
    middles = {f"{name}_ms": round(middle_of(found.pop(name)), 3) for name in ("p50", "p95")}
    return SkillStats(**found, **middles)
