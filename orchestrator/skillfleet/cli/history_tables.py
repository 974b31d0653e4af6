"""The history as people and spreadsheets read it."""

import csv
import json
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel
from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from skillfleet_workers.wire.printable import printable
from skillfleet_workers.wire.shown import short

from ..history.answers import ArchivedConversation, SkillStats
from ..history.records import SkillExecution

TOLD_CHARS, LEAST_TOLD = 60, 10
MOST_WIDTH = 1000
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A cell that begins so is a formula to a spreadsheet, and what models and scripts write is not to be run by one."""


def executions_table(found: Sequence[SkillExecution]) -> Table:
    took = Column("took", no_wrap=True, justify="right")
    table = _table(Column("id", no_wrap=True), Column("started", no_wrap=True), "skill", "status", took, "")
    for one in found:
        told = one.error or (json.dumps(one.result, ensure_ascii=False) if one.result is not None else "")
        skill = f"{one.skill_name} {one.skill_version}".strip()
        ms = "" if one.duration_ms is None else duration(one.duration_ms)
        _row(table, one.execution_id, local(one.started_at), skill, one.status, ms, _short(told))
    return table


def conversations_table(found: Sequence[ArchivedConversation]) -> Table:
    number = [Column(name, justify="right") for name in ("turns", "tokens")]
    table = _table(
        Column("id", no_wrap=True), Column("submitted", no_wrap=True), "status", *number, "prompt", "answer"
    )
    for one in found:
        counts = (str(one.turns), str(one.input_tokens + one.output_tokens))
        told = (_short(one.prompt), _short(one.answer or one.error or ""))
        _row(table, one.agent_id, local(one.created_at), one.status, *counts, *told)
    return table


def stats_table(found: Sequence[SkillStats]) -> Table:
    numbers = [Column(name, justify="right") for name in ("count", "failed", "timeout", "failures", "p50", "p95")]
    table = _table("skill", "version", *numbers)
    for one in found:
        counts = (str(one.count), str(one.failed), str(one.timeout), f"{one.failure_rate:.1%}")
        name = one.skill_name or "(no skill)"
        _row(table, name, one.skill_version, *counts, duration(one.p50_ms), duration(one.p95_ms))
    return table


def print_execution(one: SkillExecution) -> None:
    for name, value in one.model_dump(mode="json").items():
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
        if value not in (None, ""):
            print(printable(f"{name}: {shown}") if sys.stdout.isatty() else f"{name}: {shown}")


def print_csv(found: Sequence[BaseModel], kind: type[BaseModel]) -> None:
    """RFC 4180; objects are JSON texts. Cells that a spreadsheet would compute begin with an apostrophe."""
    names = [*kind.model_fields, *kind.model_computed_fields]
    writer = csv.writer(sys.stdout, lineterminator="\r\n")
    writer.writerow(names)
    for one in found:
        told = one.model_dump(mode="json")
        writer.writerow([_cell(told[name]) for name in names])


def duration(ms: float) -> str:
    if ms < 1000:
        return f"{ms:.0f} ms"
    seconds = ms / 1000
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds:.0f} s"


def local(at: datetime | None) -> str:
    return "" if at is None else f"{at.astimezone():%Y-%m-%d %H:%M:%S}"


def _cell(value: Any) -> Any:
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _short(text: str) -> str:
    return short(" ".join(text.split()), TOLD_CHARS)


def fitted(table: Table, console: Console) -> Table:
    """With all of its columns in full but the last, which gives way to a terminal that is narrow."""
    natural = console.measure(table, options=console.options.update(max_width=MOST_WIDTH)).maximum
    for column in table.columns:
        column.no_wrap = True
    over = natural - console.width
    if console.is_terminal and over > 0:
        # Rich itself would take from all of them alike.
        last = table.columns[-1]
        widest = max(cell_len(str(cell)) for cell in (last.header, *last.cells))
        last.width = min(widest, max(LEAST_TOLD, widest - over))
        natural -= widest - last.width
    table.width = natural
    return table


def _table(*columns: str | Column) -> Table:
    return Table(*columns, box=None, pad_edge=False)


def _row(table: Table, *texts: str) -> None:
    table.add_row(*(Text(printable(" ".join(text.split()))) for text in texts))
