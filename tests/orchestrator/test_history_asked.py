"""What can be asked of the history, and which sums answer for a range of days."""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillfleet.errors import BadRequestError
from skillfleet.history.asked import MOST_ROWS, Asked, duration_of
from skillfleet.history.spans import SPANS, cells_of, stretches

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
DAYS = st.dates(date(2020, 1, 1), date(2030, 1, 1))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2h", datetime(2026, 3, 10, 10, tzinfo=UTC)),
        ("7d", datetime(2026, 3, 3, 12, tzinfo=UTC)),
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-03-01T12:30:00+02:00", datetime(2026, 3, 1, 10, 30, tzinfo=UTC)),
        (datetime(2026, 3, 1), datetime(2026, 3, 1, tzinfo=UTC)),
    ],
)
def test_times_are_iso_8601_or_ages(written: datetime | str, meant: datetime) -> None:
    assert Asked.of({"since": written}, NOW).since == meant


@pytest.mark.parametrize(
    ("filters", "told"),
    [
        ({"since": "yesterday"}, "since: 'yesterday' is no time; write 2026-03-01"),
        ({"since": "0001-01-01T00:00:00+14:00"}, "since: '0001-01-01T00:00:00+14:00' is no time"),
        ({"until": "999999999w"}, "until: '999999999w' is no time"),
        ({"status": "lost"}, "status: 'lost' is none; they are pending, success, failed, timeout"),
        ({"limit": 0}, f"limit: 0 is not between 1 and {MOST_ROWS}"),
        ({"limit": MOST_ROWS + 1}, "is not between"),
        ({"since": "1d", "until": "2d"}, "since is after until"),
        ({"tenant": ""}, "tenant: is empty"),
        ({"worker": "w"}, "no filter 'worker'"),
    ],
)
def test_a_filter_that_nothing_can_fit_is_told_in_one_line(filters: Any, told: str) -> None:
    with pytest.raises(BadRequestError, match=re.escape(told)):
        Asked.of(filters, NOW)


def test_ages_are_whole_numbers_of_one_unit() -> None:
    assert (duration_of("x", "90d"), duration_of("x", "4w")) == (timedelta(days=90), timedelta(weeks=4))
    with pytest.raises(BadRequestError, match="x: '9' is no duration"):
        duration_of("x", "9")
    with pytest.raises(BadRequestError, match="x: '999999999w' is longer"):
        duration_of("x", "999999999w")


@given(DAYS, st.integers(-2, 1500))
def test_the_sums_that_are_read_cover_each_day_once_and_no_other(first: date, length: int) -> None:
    last = first + timedelta(days=length)
    read = stretches(first, last)
    days = [
        day
        for stretch in read
        for start in range(stretch.first.toordinal(), stretch.last.toordinal() + 1, stretch.span)
        for day in range(start, start + stretch.span)
    ]
    assert sorted(days) == list(range(first.toordinal(), last.toordinal() + 1))
    assert sum((one.last - one.first).days // one.span + 1 for one in read if one.span < SPANS[-1]) <= 14 * 3


@given(DAYS)
def test_an_execution_is_counted_in_each_span_that_has_its_day(day: date) -> None:
    cells = cells_of("acme", day)
    assert {(cell.tenant, cell.span) for cell in cells} == {(who, span) for who in ("", "acme") for span in SPANS}
    for cell in cells:
        assert cell.day <= day < cell.day + timedelta(days=cell.span)
