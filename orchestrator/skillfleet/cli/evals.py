"""eval: a file of cases, run together and checked."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Column, Table
from rich.text import Text

from skillfleet_workers.wire.printable import printable

from ..errors import BadRequestError
from ..settings import PLAYED
from .batches import progress_bar
from .display import print_json, stdout_console
from .exits import ANSWERED, FAILED, INTERRUPTED, complain, heed_interrupt
from .following import Json
from .submit import fleet_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..evals.cases import Case
    from ..evals.results import CaseResult


def evaluate(
    cases_file: Annotated[Path, typer.Argument(metavar="FILE", help="Cases (YAML or JSON).", show_default=False)],
    as_json: Json = False,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write JUnit's XML there, too.")] = None,
) -> int:
    """Submit a file's cases together and check what they come to; 1 where a check fails.

    With no fleet running, it starts one for its own run and stops it.
    """
    # Checks are schemas and regular expressions, whose import takes long; the other commands need none of it.
    from ..evals.cases import read_cases  # noqa: PLC0415
    from ..evals.results import as_json as told  # noqa: PLC0415
    from ..evals.results import as_junit  # noqa: PLC0415
    from ..evals.running import run_cases  # noqa: PLC0415

    if junit is not None and (junit.is_dir() or not junit.parent.is_dir()):
        raise BadRequestError(f"--junit: {junit} can't be written; name a file in a folder that is there")
    cases = read_cases(cases_file)
    with fleet_for(False, _model(cases)) as fleet, progress_bar() as bar:
        ending = bar.add_task("ended", total=len(cases))

        def ended() -> None:
            heed_interrupt()
            bar.advance(ending)

        try:
            results = run_cases(fleet, cases, ended)
        except KeyboardInterrupt:
            complain("cancelled what had not ended")
            return INTERRUPTED
    if junit is not None:
        junit.write_bytes(as_junit(str(cases_file), results))
    if as_json:
        print_json(told(results))
    else:
        _print_table(results)
    return ANSWERED if all(result.passed for result in results) else FAILED


def _model(cases: "Sequence[Case]") -> str:
    """Of a provider, where there is one."""
    models = [case.submission.model for case in cases]
    return next((model for model in models if not model.startswith(PLAYED)), models[0])


def _print_table(results: "list[CaseResult]") -> None:
    numbers = [Column(name, justify="right") for name in ("turns", "tokens", "cost", "seconds")]
    table = Table("case", "result", *numbers, box=None, pad_edge=False)
    for one in results:
        counts = (str(one.turns), str(one.tokens), f"{one.usage.cost:.4f}", f"{one.seconds:.1f}")
        table.add_row(*(Text(printable(cell)) for cell in (one.name, "passed" if one.passed else "failed", *counts)))
    console = stdout_console()
    console.print(table)
    for one in results:
        if one.failed:
            console.print(printable(f"\n{one.name} ({one.id}):"), markup=False)
        for check in one.failed:
            console.print(printable(f"- {check}"), markup=False)
    passed = sum(one.passed for one in results)
    console.print(f"\n{passed} passed, {len(results) - passed} failed", markup=False)
