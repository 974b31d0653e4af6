"""A chart as an SVG image that needs nothing else (pure)."""

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from skillfleet_workers.wire.printable import printable
from skillfleet_workers.wire.shown import short

from .gantt import Bar, Chart, Row, seconds, ticks
from .models import ExecutionState

COLOURS = {
    ExecutionState.COMPLETED: "#2e7d32",
    ExecutionState.FAILED: "#c62828",
    ExecutionState.TIMEOUT: "#ef6c00",
    ExecutionState.RUNNING: "#1565c0",
    ExecutionState.SKIPPED: "#9e9e9e",
    ExecutionState.PENDING: "#cfd8dc",
}
WIDTH, ROW, BAR, TOP, MARGIN = 960, 24, 14, 92, 16
NAME_CHARS, TITLE_CHARS, SUBTITLE_CHARS, CHAR_PX = 40, 100, 130, 7
MOST_TICKS, LEAST_BAR_PX = 9, 2.0
MOST_ARROWS = 60
"""More dependencies than this are not drawn: nobody could tell them apart."""

_STYLE = (
    "text{font:12px ui-sans-serif,system-ui,sans-serif;fill:#263238}.title{font-size:15px;font-weight:600}"
    ".quiet{fill:#607d8b}.over{paint-order:stroke;stroke:#fff;stroke-width:3px}.grid{stroke:#eceff1}"
    ".wait{stroke:#90a4ae;stroke-width:2;stroke-dasharray:2 3}.arrow{fill:none;stroke:#90a4ae;stroke-width:1}"
)


def svg_of(chart: Chart, title: str, subtitle: str = "") -> str:
    names = [short(printable(row.tool_id), NAME_CHARS) for row in chart.rows]
    left = MARGIN + CHAR_PX * max(map(len, names), default=0) + 12
    place = _Place(left, (WIDTH - MARGIN - 64 - left) / chart.length_s)
    height = TOP + ROW * len(chart.rows) + 28
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" role="img" aria-label={quoteattr(printable(title))}>',
        f"<style>{_STYLE}</style>",
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        f'<text class="title" x="{MARGIN}" y="26">{escape(short(printable(title), TITLE_CHARS))}</text>',
        f'<text class="quiet" x="{MARGIN}" y="46">{escape(short(printable(subtitle), SUBTITLE_CHARS))}</text>',
        *_legend(chart),
        *_axis(chart, place, height),
        *_arrows(chart, place),
    ]
    for index, (row, name) in enumerate(zip(chart.rows, names, strict=True)):
        parts += _row(row, name, index, place)
    return "\n".join([*parts, "</svg>"]) + "\n"


class _Place:
    """Where moments and rows are, in pixels."""

    def __init__(self, left: float, per_second: float) -> None:
        self.left, self._per_second = left, per_second

    def x(self, moment: float) -> float:
        return round(self.left + moment * self._per_second, 1)

    def y(self, index: int) -> int:
        return TOP + index * ROW


def _legend(chart: Chart) -> Iterator[str]:
    x = MARGIN
    present = {row.state for row in chart.rows} | {bar.state for row in chart.rows for bar in row.bars}
    for state, colour in COLOURS.items():
        if state in present:
            yield f'<rect x="{x}" y="58" width="11" height="11" rx="2" fill="{colour}"/>'
            yield f'<text class="quiet" x="{x + 16}" y="68">{state}</text>'
            x += 16 + CHAR_PX * len(state) + 18


def _axis(chart: Chart, place: _Place, height: int) -> Iterator[str]:
    for moment in ticks(chart.length_s, MOST_TICKS):
        x = place.x(moment)
        yield f'<line class="grid" x1="{x}" y1="{TOP - 6}" x2="{x}" y2="{height - 24}"/>'
        yield f'<text class="quiet" x="{x}" y="{height - 8}" text-anchor="middle">{seconds(moment)}</text>'


def _row(row: Row, name: str, index: int, place: _Place) -> Iterator[str]:
    y = place.y(index)
    yield f'<text x="{place.left - 12}" y="{y + 15}" text-anchor="end">{escape(name)}</text>'
    for before, after in zip(row.bars, row.bars[1:], strict=False):
        ends = f'x1="{place.x(before.end)}" x2="{place.x(after.begin)}"'
        yield f'<line class="wait" {ends} y1="{y + 11}" y2="{y + 11}"/>'
    for number, bar in enumerate(row.bars, start=1):
        x, width = place.x(bar.begin), max(LEAST_BAR_PX, place.x(bar.end) - place.x(bar.begin))
        told = f"{row.tool_id}, run {number}: {bar.state}, {seconds(bar.end - bar.begin)}"
        yield (
            f'<rect x="{x}" y="{y + 4}" width="{width:.1f}" height="{BAR}" rx="2" fill="{_colour(bar)}">'
            f"<title>{escape(printable(told))}</title></rect>"
        )
    said = seconds(sum(bar.end - bar.begin for bar in row.bars)) if row.bars else row.state
    end = place.x(row.bars[-1].end) if row.bars else place.left
    yield f'<text class="quiet over" x="{end + 6:.1f}" y="{y + 15}">{said}</text>'


def _arrows(chart: Chart, place: _Place) -> Iterator[str]:
    index = {row.tool_id: number for number, row in enumerate(chart.rows)}
    pairs = [(need, row.tool_id) for row in chart.rows for need in row.needs if row.bars]
    if len(pairs) > MOST_ARROWS:
        return
    for need, name in pairs:
        before, after = chart.rows[index[need]], chart.rows[index[name]]
        if before.bars:
            x, y = place.x(before.bars[-1].end), place.y(index[need]) + ROW / 2
            to_x, to_y = place.x(after.bars[0].begin), place.y(index[name]) + ROW / 2
            middle = round((x + to_x) / 2, 1)
            yield f'<path class="arrow" d="M{x} {y - 1} C{middle} {y - 1} {middle} {to_y - 1} {to_x} {to_y - 1}"/>'


def _colour(bar: Bar) -> str:
    return COLOURS.get(ExecutionState(bar.state), "#90a4ae")
