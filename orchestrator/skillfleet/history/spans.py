"""Which sums of the statistics an execution is counted in, and which of them add up to a range of days (pure).

Where there are many tenants and skills, sums of single days are nearly as many as the executions themselves; so days
are summed up in spans too, for each tenant and for all of them together.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

ALL_TENANTS = ""
SPANS = (1, 8, 64, 512)
"""Days, each a multiple of the one before."""

_LONGEST = SPANS[-1]
_FIRST, _LAST = date.min.toordinal(), date.max.toordinal()


@dataclass(frozen=True, slots=True)
class Cell:
    """`day`: the first of its span."""

    tenant: str
    span: int
    day: date


@dataclass(frozen=True, slots=True)
class Stretch:
    """The spans of one length that begin on these days, or between them."""

    span: int
    first: date
    last: date


def cells_of(tenant: str, day: date) -> tuple[Cell, ...]:
    """All that an execution of this tenant is counted in, which ended on this day."""
    return tuple(Cell(whose, span, span_start(span, day)) for whose in (ALL_TENANTS, tenant) for span in SPANS)


def span_start(span: int, day: date) -> date:
    """The first day of the span that the day is in."""
    ordinal = day.toordinal()
    return date.fromordinal(max(_FIRST, ordinal - ordinal % span))


def stretches(since: date | None = None, until: date | None = None) -> tuple[Stretch, ...]:
    """Few that cover these days, both of them included, and no other; of all there are by default."""
    begin = 0 if since is None else since.toordinal()
    end = (_LAST // _LONGEST + 1) * _LONGEST if until is None else until.toordinal() + 1
    return tuple(_cover(begin, end, SPANS))


def _cover(begin: int, end: int, spans: tuple[int, ...]) -> Iterator[Stretch]:
    """Of ordinals, `end` excluded: the longest in the middle, shorter ones before and after."""
    if begin >= end:
        return
    span = spans[-1]
    inner_begin, inner_end = -(-begin // span) * span, end // span * span
    if inner_begin >= inner_end:
        yield from _cover(begin, end, spans[:-1])
        return
    yield from _cover(begin, inner_begin, spans[:-1])
    yield Stretch(span, _day(inner_begin), _day(inner_end - span))
    yield from _cover(inner_end, end, spans[:-1])


def _day(ordinal: int) -> date:
    return date.fromordinal(min(max(ordinal, _FIRST), _LAST))
