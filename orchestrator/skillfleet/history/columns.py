"""Kinds of columns that both databases keep alike."""

from datetime import UTC, date, datetime
from typing import Any

from sqlalchemy import JSON, DateTime, Dialect, TypeDecorator
from sqlalchemy.dialects.postgresql import JSONB

# None is NULL, and not the JSON text `null`: a query must not need to know both.
Json = JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")


class UtcTime(TypeDecorator[datetime]):
    """A moment, with its microseconds; read back with its time zone, UTC. SQLite keeps no time zones, and sorts its
    times as text."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        utc: datetime = value.astimezone(UTC)
        return utc if dialect.name == "postgresql" else utc.replace(tzinfo=None)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        at: datetime = value
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)


def moment(seconds: float) -> datetime:
    """Of seconds since the epoch."""
    return datetime.fromtimestamp(seconds, UTC)


def day_of(at: datetime) -> date:
    return at.astimezone(UTC).date()
