"""Plans, as people read them."""

from collections.abc import Sequence

from rich.table import Column, Table
from rich.text import Text

from skillfleet_workers.wire.printable import printable
from skillfleet_workers.wire.shown import short

from ..conversations.models import TERMINAL, Status
from ..plans.gantt import Chart, Row, seconds, ticks
from ..plans.models import ExecutionResult, ExecutionState, PlanJson, ToolResult

STYLES = {
    ExecutionState.COMPLETED: "green",
    ExecutionState.FAILED: "red",
    ExecutionState.TIMEOUT: "yellow",
    ExecutionState.RUNNING: "cyan",
    ExecutionState.SKIPPED: "dim",
    ExecutionState.PENDING: "dim",
}
MARKS = {ExecutionState.FAILED: "×", ExecutionState.TIMEOUT: "!", ExecutionState.RUNNING: "▒"}
"""Of runs, so that they can be told apart without colours."""

RAN, WAITED, IDLE = "█", "·", " "
LEAST_CHART, MOST_CHART = 12, 60
BESIDE_CHART = 32
"""Characters that the other columns take, without the tools' names."""

NAME_CHARS, LEAST_NAME, TICK_CHARS = 30, 8, 10
ERROR_CHARS = 300


def plan_line(plan: PlanJson, levels: int) -> str:
    tools = "1 tool" if len(plan.tools) == 1 else f"{len(plan.tools)} tools"
    return f"a plan of {tools} in {levels} level{'s' if levels != 1 else ''}"


def result_line(result: ExecutionResult, status: Status) -> str:
    """What it has come to, in one line. `status`: of its conversation."""
    completed = sum(one.ok for one in result.execution_trace)
    how = f"{completed} of {len(result.execution_trace)} tools completed, {result.total_execution_time_ms} ms"
    if result.success:
        return f"succeeded: {how}"
    if status not in TERMINAL or status == "cancelled":
        return f"{status}: {how}"
    reason = (result.failure_reason or "ended").replace("_", " ")
    again = "; another plan may do better" if result.can_replan else ""
    return f"failed ({reason}): {how}{again}"


def gantt_table(result: ExecutionResult, chart: Chart, width: int) -> Table:
    """Its tools by when they began, each with its runs over time, as far as `width` has room for that."""
    told = {one.tool_id: one for one in result.execution_trace}
    longest = min(NAME_CHARS, max((len(name) for name in told), default=0))
    name_chars = max(LEAST_NAME, min(longest, width - BESIDE_CHART - LEAST_CHART))
    room = min(MOST_CHART, width - BESIDE_CHART - name_chars)
    if room < LEAST_CHART:
        name_chars = max(LEAST_NAME, min(longest, width - BESIDE_CHART))
    table = Table(
        Column("tool", no_wrap=True), Column("state", no_wrap=True),
        Column("ms", justify="right", no_wrap=True), Column("retries", justify="right", no_wrap=True),
        box=None, pad_edge=False,
    )  # fmt: skip
    if room >= LEAST_CHART:
        table.add_column(Text(axis(chart.length_s, room)), no_wrap=True)
    for row in chart.rows:
        one = told[row.tool_id]
        cells = [
            Text(short(printable(row.tool_id), name_chars)),
            Text(one.state, STYLES[one.state]),
            Text(str(one.execution_time_ms) if row.bars else ""),
            Text(str(one.retry_count) if one.retry_count else ""),
        ]
        table.add_row(*cells, *([bar_text(row, chart.length_s, room)] if room >= LEAST_CHART else ()))
    return table


def axis(length_s: float, room: int) -> str:
    """Round moments, each where it begins, as far as they stay apart."""
    line = ""
    for moment in ticks(length_s, max(3, room // TICK_CHARS)):
        place, said = int(moment * room / length_s), seconds(moment)
        if place + len(said) <= room and (not line or place > len(line)):
            line = line.ljust(place) + said
    return line


def bar_text(row: Row, length_s: float, room: int) -> Text:
    """Its runs, and between them the time that it waited to be run again."""
    cells = [(IDLE, "")] * room
    scale = room / length_s

    def fill(begin: float, end: float, mark: str, style: str) -> None:
        first = min(room - 1, int(begin * scale))
        for place in range(first, max(first + 1, min(room, round(end * scale)))):
            cells[place] = (mark, style)

    for before, after in zip(row.bars, row.bars[1:], strict=False):
        fill(before.end, after.begin, WAITED, "dim")
    for bar in row.bars:
        state = ExecutionState(bar.state)
        fill(bar.begin, bar.end, MARKS.get(state, RAN), STYLES[state])
    text = Text()
    for mark, style in cells:
        text.append(mark, style or None)
    text.rstrip()
    return text


def error_lines(trace: Sequence[ToolResult]) -> list[str]:
    """Why tools did not succeed; those that were skipped tell nothing new."""
    return [
        printable(f"{one.tool_id}: {one.error.type}: {short(one.error.message, ERROR_CHARS)}")
        for one in trace
        if one.error and one.state is not ExecutionState.SKIPPED
    ]
