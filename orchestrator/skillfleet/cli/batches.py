"""submit --batch: many conversations from a file of JSON lines."""

import sys
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ..batch import read_batch
from ..conversations.report import Report
from ..fleet import Fleet
from .asking import Asker
from .display import Watch, print_json
from .exits import INTERRUPTED, complain, heed_interrupt, worst_exit_code


def submit_batch(
    fleet: Fleet, path: Path, defaults: dict[str, Any], name: str, *, detach: bool, as_json: bool
) -> int:
    """Accept them all, then (but with --detach) wait for them all; on stdout a line for each, in the file's order:
    its id, or with --json its report."""
    submissions = read_batch(path, defaults, name)
    names: list[str] = []
    reports: list[Report] = []
    try:
        with progress_bar() as bar:
            accepting = bar.add_task("accepted", total=len(submissions))
            for accepted in fleet.submit_batch(submissions, detach=detach):
                heed_interrupt()
                names.append(accepted)
                bar.advance(accepting)
            if not detach:
                ending = bar.add_task("ended", total=len(names))
                for one in names:
                    reports.append(_ended(fleet, one))
                    bar.advance(ending)
    except KeyboardInterrupt:
        complain(
            f"{len(names)} of {len(submissions)} are accepted; the same command again goes on where this one stopped"
        )
        return INTERRUPTED
    if as_json:
        for report in reports or [fleet.status(one) for one in names]:
            print_json(report.as_json())
    else:
        print("\n".join(names))
    return _told(reports)


def _ended(fleet: Fleet, name: str) -> Report:
    """Once it has; should it wait for a person, that is told."""
    asker = Asker(fleet, name, Watch(quiet=True), None)
    for entry in fleet.follow(name, live=False):
        heed_interrupt()
        asker.see(entry)
    return fleet.result(name)


def progress_bar() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty())


def _told(reports: list[Report]) -> int:
    counts = Counter(report.status for report in reports)
    if set(counts) - {"completed"}:
        complain(", ".join(f"{count} {status}" for status, count in counts.items()))
    return worst_exit_code(reports)
