"""When each tool of a plan ran, as bars over time (pure)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..events import Entry
from .models import ExecutionResult, ExecutionState, PlanSpec

_ENDS = {"failed": "failed", "lost": "failed", "returned": "failed", "result": ""}
"""Types of entries that end a run, and the state in which it ended; empty: the tool's own."""

_ROUND_ABOVE = (10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 21_600.0, 43_200.0, 86_400.0)
"""Seconds between ticks that read well, where decimal ones no longer do."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One run of a tool. `begin`, `end`: seconds since the plan began."""

    begin: float
    end: float
    state: str


@dataclass(frozen=True, slots=True)
class Row:
    """A tool, and its runs in their order."""

    tool_id: str
    state: str
    bars: tuple[Bar, ...]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    rows: tuple[Row, ...]
    length_s: float


def chart_of(spec: PlanSpec, result: ExecutionResult, entries: Iterable[Entry], began: float, ended: float) -> Chart:
    """`entries`: of the plan's conversation; `began`, `ended` (or now): seconds since the epoch."""
    tools = {tool.tool_id: tool for tool in spec.plan.tools}
    by_key = {f"1.{index}": tool.tool_id for index, tool in enumerate(spec.plan.tools)}
    states = {one.tool_id: one.state for one in result.execution_trace}
    bars = _bars(entries, by_key, states, began, ended)
    rows = tuple(
        Row(name, states[name], tuple(bars.get(name, ())), tools[name].dependencies) for name in _order(states, bars)
    )
    ends = [bar.end for row in rows for bar in row.bars]
    return Chart(rows, max([ended - began, *ends, 0.001]))


def ticks(length_s: float, most: int) -> tuple[float, ...]:
    """Round moments from 0 on, at most so many."""
    step = next(one for one in _steps() if length_s < one * most)
    count = int(length_s / step) + 1
    return tuple(index * step for index in range(count))


def seconds(value: float) -> str:
    """In the units in which it reads best."""
    if value < 1:
        return f"{value * 1000:.0f} ms" if value else "0"
    if value < 60:
        return f"{value:.3g} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [(hours, "h"), (minutes, "min"), (rest, "s")]
    return " ".join(f"{number} {unit}" for number, unit in parts if number)


def _steps() -> Iterator[float]:
    for power in (0.001, 0.01, 0.1, 1):
        yield from (power, 2 * power, 5 * power)
    yield from _ROUND_ABOVE
    step = _ROUND_ABOVE[-1]
    while True:
        yield (step := 2 * step)


def _order(states: Mapping[str, ExecutionState], bars: Mapping[str, Sequence[Bar]]) -> list[str]:
    """By when they began; what never did comes last, in the plan's order."""
    place = {name: index for index, name in enumerate(states)}
    return sorted(states, key=lambda name: (bars[name][0].begin if name in bars else float("inf"), place[name]))


def _bars(
    entries: Iterable[Entry], by_key: Mapping[str, str], states: Mapping[str, str], began: float, ended: float
) -> dict[str, list[Bar]]:
    bars: dict[str, list[Bar]] = {}
    running: dict[str, float] = {}

    def end(tool_id: str, moment: float, state: str) -> None:
        begin = running.pop(tool_id)
        bars.setdefault(tool_id, []).append(Bar(begin, max(begin, moment), state))

    for entry in entries:
        tool_id = by_key.get(_key(entry.data))
        if tool_id is None:
            continue
        moment = max(0.0, entry.at - began)  # the clocks of two machines may differ
        if entry.type == "started":
            if tool_id in running:  # the worker of the run before has gone silent
                end(tool_id, moment, "failed")
            running[tool_id] = moment
        elif entry.type in _ENDS and tool_id in running:
            end(tool_id, moment, _state(entry) or states[tool_id])
    for tool_id in tuple(running):
        end(tool_id, ended - began, states[tool_id])
    return bars


def _state(entry: Entry) -> str:
    return "timeout" if entry.data.get("status") == "timed_out" and entry.type == "failed" else _ENDS[entry.type]


def _key(data: Mapping[str, Any]) -> str:
    return str(data.get("key", ""))
