"""Statistics as pictures: bars in a terminal, and a file."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from skillfleet_workers.wire.printable import printable
from skillfleet_workers.wire.shown import short

from ..errors import BadRequestError
from ..history.answers import SkillStats

MOST_BARS = 12
MOST_ROWS = 40
NAME_CHARS, VERSION_CHARS = 24, 12
WIDTH, LEAST_WIDTH = 100, 60
LINES_A_BAR, BAR = 3, 0.6


def bars(found: Sequence[SkillStats], width: int, *, colours: bool) -> str:
    """p50 and p95 of those with the most executions, for a terminal."""
    figure = import_module("plotext").figure
    shown = found[:MOST_BARS][::-1]
    figure.clear()
    figure.plot_size(max(LEAST_WIDTH, min(WIDTH, width)), LINES_A_BAR * len(shown) + 3)
    for marker, seconds in (("░", [one.p95_ms / 1000 for one in shown]), ("█", [one.p50_ms / 1000 for one in shown])):
        names = [_name(one) for one in shown]
        figure.draw(figure.bar(names, seconds, orientation="horizontal", marker=marker, width=BAR))
    figure.ruler("x").lim(0, max(one.p95_ms for one in shown) / 1000 or 1)
    figure.title("█ p50  ░ p95  (seconds)")
    return str(figure.build().string(colorless=not colours)).rstrip()


def write_picture(found: Sequence[SkillStats], file: Path) -> None:
    """
    Raises:
        BadRequestError: matplotlib is missing, or the file can't be written.
    """
    try:
        figure = import_module("matplotlib.figure").Figure
    except ImportError:
        raise BadRequestError("--png needs matplotlib: pip install 'skillfleet[plot]'") from None
    shown = found[:MOST_ROWS][::-1]
    drawn = figure(figsize=(12, 1.6 + 0.32 * len(shown)), layout="constrained")
    times, counts = drawn.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    _draw_times(times, shown)
    _draw_counts(counts, shown)
    if left := len(found) - len(shown):
        drawn.supxlabel(f"and {left} more with fewer executions", fontsize="small")
    try:
        drawn.savefig(file, format="png", dpi=120)  # without pyplot there is no display to look for
    except OSError as error:
        raise BadRequestError(f"--png: {file} can't be written: {error.strerror}") from None


def _draw_times(axes: Any, shown: Sequence[SkillStats]) -> None:
    rows = range(len(shown))
    p50, p95 = [max(one.p50_ms, 1) / 1000 for one in shown], [max(one.p95_ms, 1) / 1000 for one in shown]
    axes.hlines(rows, p50, p95, color="tab:gray", linewidth=2, zorder=1)
    axes.scatter(p50, rows, color="tab:blue", label="p50", zorder=2)
    axes.scatter(p95, rows, color="tab:orange", label="p95", zorder=2)
    axes.set_yticks(rows, [_name(one) for one in shown], parse_math=False)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("seconds")
    axes.set_title("How long they took")
    axes.grid(axis="x", alpha=0.3)
    axes.legend()


def _draw_counts(axes: Any, shown: Sequence[SkillStats]) -> None:
    rows, left = range(len(shown)), [0] * len(shown)
    parts = {
        "succeeded": ([one.count - one.failed - one.timeout for one in shown], "tab:green"),
        "failed": ([one.failed for one in shown], "tab:red"),
        "timeout": ([one.timeout for one in shown], "tab:purple"),
    }
    for label, (numbers, colour) in parts.items():
        axes.barh(rows, numbers, left=left, label=label, color=colour)
        left = [before + number for before, number in zip(left, numbers, strict=True)]
    axes.set_xlabel("executions")
    axes.set_title("What they came to")
    axes.grid(axis="x", alpha=0.3)
    axes.legend()


def _name(one: SkillStats) -> str:
    name, version = short(one.skill_name or "(no skill)", NAME_CHARS), short(one.skill_version, VERSION_CHARS)
    return printable(f"{name} {version}".strip())
