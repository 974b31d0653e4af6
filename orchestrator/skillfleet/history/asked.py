"""What can be asked of the history (pure): filters, and times as people write them."""

import re
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any, TypedDict

from ..errors import BadRequestError
from .records import ExecutionStatus

MOST_ROWS = 100_000
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DURATION = re.compile(rf"(\d{{1,9}})([{''.join(_UNITS)}])", re.ASCII)


class Filters(TypedDict, total=False):
    """`since` (included) and `until` (not included): when an execution started; datetimes (without a time zone: UTC),
    ISO 8601, or how long ago, as 90s, 30m, 2h, 7d or 4w. `status`: pending, success, failed or timeout."""

    agent: str | None
    skill: str | None
    version: str | None
    status: str | None
    since: datetime | str | None
    until: datetime | str | None
    tenant: str | None
    limit: int


class StatsFilters(TypedDict, total=False):
    """`since` and `until`: whole days in UTC, those of these moments included."""

    skill: str | None
    version: str | None
    since: datetime | str | None
    until: datetime | str | None
    tenant: str | None


@dataclass(frozen=True, slots=True)
class Asked:
    """Filters, checked; None: whatever it is."""

    agent: str | None = None
    skill: str | None = None
    version: str | None = None
    status: ExecutionStatus | None = None
    since: datetime | None = None
    until: datetime | None = None
    tenant: str | None = None
    limit: int = 20

    @classmethod
    def of(cls, filters: Filters | StatsFilters, now: datetime | None = None) -> "Asked":
        """
        Raises:
            BadRequestError: a filter that nothing can ever fit.
        """
        given = {name: value for name, value in filters.items() if value is not None}
        if unknown := set(given) - {field.name for field in fields(cls)}:
            raise BadRequestError(f"the history has no filter {min(unknown)!r}")
        at = now or datetime.now(UTC)
        for name in ("since", "until"):
            if name in given:
                given[name] = moment_of(name, given[name], at)
        for name in ("agent", "version", "tenant"):  # but there is code of no skill, which is named ""
            if given.get(name) == "":
                raise BadRequestError(f"{name}: is empty; leave it out to ask for any")
        if "status" in given:
            given["status"] = _status(given["status"])
        asked = cls(**given)  # type: ignore[arg-type]
        if not 1 <= asked.limit <= MOST_ROWS:
            raise BadRequestError(f"limit: {asked.limit} is not between 1 and {MOST_ROWS}")
        if asked.since and asked.until and asked.since > asked.until:
            raise BadRequestError("since is after until; swap them")
        return asked


def moment_of(name: str, given: object, now: datetime) -> datetime:
    """`name`: of the filter, for the complaint.

    Raises:
        BadRequestError
    """
    try:
        if isinstance(given, str):
            text = given.strip()
            ago = _DURATION.fullmatch(text)
            at = now - timedelta(**{_UNITS[ago[2]]: int(ago[1])}) if ago else datetime.fromisoformat(text)
            return _in_utc(at)
        if isinstance(given, datetime):
            return _in_utc(given)
    except (ValueError, OverflowError):  # no date, or one before the calendar begins
        pass
    raise BadRequestError(
        f"{name}: {given!r} is no time; write 2026-03-01, 2026-03-01T12:30Z, or how long ago: 2h, 7d"
    )


def _in_utc(at: datetime) -> datetime:
    return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)


def duration_of(name: str, text: str) -> timedelta:
    """
    Raises:
        BadRequestError
    """
    if not (found := _DURATION.fullmatch(text.strip())):
        raise BadRequestError(f"{name}: {text!r} is no duration; write 12h, 90d or 4w")
    try:
        return timedelta(**{_UNITS[found[2]]: int(found[1])})
    except OverflowError:
        raise BadRequestError(f"{name}: {text!r} is longer than any calendar") from None


def _status(given: Any) -> ExecutionStatus:
    try:
        return ExecutionStatus(given)
    except ValueError:
        raise BadRequestError(f"status: {given!r} is none; they are {', '.join(ExecutionStatus)}") from None
