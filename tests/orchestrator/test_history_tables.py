"""The history's tables on terminals that are narrower than they are."""

import io

import pytest
from rich.console import Console
from rich.table import Table
from tests.orchestrator.made_history import execution

from skillfleet.cli.history_tables import executions_table, fitted
from skillfleet.cli.stats_plot import bars
from skillfleet.history.answers import SkillStats
from skillfleet.history.records import SkillExecution

RUN = SkillExecution.model_validate(execution(1, status="failed", error="the 扉 is shut, " * 5))


def _lines(table: Table, width: int) -> list[str]:
    screen = Console(file=io.StringIO(), force_terminal=True, color_system=None, width=width)
    with screen.capture() as captured:
        screen.print(fitted(table, screen))
    return captured.get().splitlines()


@pytest.mark.parametrize("width", [110, 140, 300])
def test_only_the_last_column_gives_way_to_a_narrow_terminal(width: int) -> None:
    header, line = _lines(executions_table([RUN]), width)
    assert line.split()[0] == RUN.execution_id
    assert all(whole in line for whole in ("navigate 1.0.0", "failed", "10 ms", "the 扉 "))
    assert len(header) <= width


def test_a_name_with_a_line_break_makes_no_row_of_its_own() -> None:
    forged = RUN.model_copy(update={"skill_name": "a\nb"})
    assert len(_lines(executions_table([forged]), 300)) == 2


def test_versions_of_a_skill_with_a_long_name_are_told_apart_in_a_plot() -> None:
    slow, quick = (
        SkillStats(skill_name="x\n" * 40, skill_version=version, count=1, failed=0, timeout=0, p50_ms=1, p95_ms=2)
        for version in ("1.0.0", "2.0.0")
    )
    drawn = bars([slow, quick], 100, colours=False)
    assert "x … 1.0.0" in drawn.replace("x…", "x …")
    assert "2.0.0" in drawn
