"""Moments and days, in UTC (pure)."""

from datetime import UTC, date, datetime


def moment(seconds: float) -> datetime:
    """Of seconds since the epoch."""
    return datetime.fromtimestamp(seconds, UTC)


def day_of(at: datetime) -> date:
    return at.astimezone(UTC).date()
