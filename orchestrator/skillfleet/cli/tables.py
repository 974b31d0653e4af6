"""Lists of conversations, and of what they have made, as people read them."""

from collections.abc import Sequence

from rich.table import Column, Table
from rich.text import Text

from skillfleet_workers.wire.printable import printable
from skillfleet_workers.wire.shown import short

from ..conversations.dead import DeadReport
from ..conversations.report import ArtifactReport, Report
from ..subagents.told import told_of_own
from ..tools.own import EXECUTE_PLAN


def conversations_table(reports: Sequence[Report]) -> Table:
    whole = Column("id", no_wrap=True, min_width=max(len(one.id) for one in reports))
    table = Table(whole, "status", "turns", "calls", "seconds", "answer", box=None, pad_edge=False)
    for one in reports:
        text = told_of_own(EXECUTE_PLAN.tool, one.answer) if one.answer else one.error.message if one.error else ""
        counts = (str(one.turns), str(len(one.tool_calls)), f"{one.elapsed_ms / 1000:.1f}")
        table.add_row(*_cells(one.id, one.status, *counts), one_line(short(text)))
    return table


def one_line(text: str) -> Text:
    """Cut where a table has no more room for it."""
    return Text(printable(text), no_wrap=True, overflow="ellipsis")


def calls_table(report: Report) -> Table:
    table = Table("call", "tool", "skill", "status", "worker", "runtime", "ms", box=None, pad_edge=False)
    waiting = {asked.key for asked in report.waiting_for}
    for call in report.tool_calls:
        status = call.status or ("waiting" if call.key in waiting else "running" if call.begun else "pending")
        table.add_row(
            *_cells(
                call.key,
                call.of_plan or call.name,
                call.skill or "",
                status,
                call.worker,
                call.runtime,
                f"{call.ms:.0f}",
            )
        )
    return table


def artifacts_table(artifacts: Sequence[ArtifactReport]) -> Table:
    table = Table("call", "path", Column("bytes", justify="right"), "type", box=None, pad_edge=False)
    for one in artifacts:
        table.add_row(*_cells(one.call, one.path, str(one.bytes), one.media_type))
    return table


def dead_table(calls: Sequence[DeadReport]) -> Table:
    whole = Column("id", no_wrap=True, min_width=max(len(call.id) for call in calls))
    table = Table(whole, "tool", "skill", Column("reason", no_wrap=True), "lost", box=None, pad_edge=False)
    for call in calls:
        table.add_row(*_cells(call.id, call.tool, call.skill or "", call.reason, str(call.losses)))
    return table


def _cells(*texts: str) -> list[Text]:
    return [Text(printable(text)) for text in texts]
