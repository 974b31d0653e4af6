"""What the commands say: JSON or lines on stdout, errors on stderr; never what a terminal would obey."""

import json
import logging
import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Annotated, Any

import typer

from ..skills.problems import Problem
from ..wire.connection import SETTINGS_EXIT
from ..wire.printable import printable
from ..wire.shown import short

FAILED = 1
USAGE = SETTINGS_EXIT

Json = Annotated[bool, typer.Option("--json", help="JSON on stdout, nothing else.")]


class UsageError(Exception):
    """The command cannot be meant so; one line, with the fix."""


def unknown_skill(name: str, known: Iterable[str]) -> UsageError:
    close = get_close_matches(name, sorted(known), n=3)
    fix = f"did you mean {' or '.join(close)}?" if close else "`skillfleet skills list --all` lists what there is"
    return UsageError(f"there is no skill {short(name)!r}; {fix}")


def complain(line: str) -> None:
    print(f"skillfleet: {printable(' '.join(line.split()))}", file=sys.stderr)


class Complaints(logging.Handler):
    """What the parts that workers share would log."""

    def emit(self, record: logging.LogRecord) -> None:
        complain(record.getMessage())


def say(line: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    print(printable(line).encode(encoding, "backslashreplace").decode(encoding))


def say_json(value: Any) -> None:
    """Indented for people."""
    print(json.dumps(value, ensure_ascii=not _is_utf8(), indent=2 if sys.stdout.isatty() else None))


def _is_utf8() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def say_problems(problems: Iterable[Problem]) -> None:
    for problem in problems:
        say(f"  {problem.severity}: {problem}")
        if problem.fix:
            say(f"    → {problem.fix}")


def say_table(rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as they must be, but for the last."""
    shown = [[printable(" ".join(cell.split())) for cell in row] for row in rows]
    widths = [max(len(row[place]) for row in shown) for place in range(len(shown[0]) - 1)] if shown else []
    for row in shown:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        say("  ".join([*cells, row[-1]]).rstrip())
