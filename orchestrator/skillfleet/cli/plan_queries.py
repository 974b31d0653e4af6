"""plan show: the attempts at a plan, their tools, and when each ran."""

import json
from pathlib import Path
from typing import Annotated

import typer

from skillfleet_workers.wire.printable import printable

from ..errors import BadRequestError
from ..fleet import Fleet
from ..plans.gantt_svg import svg_of
from ..running_plans import PlanView
from .display import literal, print_json, stdout_console
from .following import Id, Json
from .plan_display import error_lines, gantt_table, result_line

STDOUT = Path("-")

Svg = Annotated[
    Path | None, typer.Option("--svg", metavar="FILE", help="Write the last attempt's chart there; `-`: on stdout.")
]


def show(conversation_id: Id, svg: Svg = None, as_json: Json = False) -> None:
    """What a plan has come to by now: its attempts, their tools, and a chart of when each ran."""
    with Fleet() as fleet:
        asked, attempts = fleet.transcript(conversation_id), fleet.plan_attempts(conversation_id)
        if not attempts and not asked.spec.planning:
            raise BadRequestError(f"{conversation_id} executes no plan")
        if svg is not None:
            _draw(fleet, attempts, svg)
            if svg == STDOUT:
                return
        if as_json:
            print_json([fleet.plan_result(one).as_json() for one in attempts])
            return
        if not attempts:
            print(f"{conversation_id}: no plan was executed{'' if asked.terminal else ' yet'}")
        for one in attempts:
            view = fleet.plan_view(one)
            if asked.spec.planning:
                stdout_console().print(f"[bold]attempt {view.attempt}[/]: {literal(one)}")
            print_attempt(view)
        if asked.spec.planning and asked.error:
            print(printable(f"{asked.error.message} {asked.error.fix}".strip()))


def print_attempt(view: PlanView) -> None:
    console, result = stdout_console(), view.result
    console.print(f"[bold]plan {result.plan_id}[/] {literal(result_line(result, view.status))}")
    if result.narrative:
        console.print(literal(result.narrative))
    console.print(gantt_table(result, view.chart, console.width))
    for line in error_lines(result.execution_trace):
        console.print(line, markup=False)
    if result.final_state:
        state = json.dumps(result.final_state, ensure_ascii=False, indent=2)
        console.print(f"state: {printable(state) if console.is_terminal else state}", markup=False)


def _draw(fleet: Fleet, attempts: tuple[str, ...], file: Path) -> None:
    """Raises: BadRequestError"""
    if not attempts:
        raise BadRequestError("--svg: no plan was executed yet")
    view = fleet.plan_view(attempts[-1])
    drawn = svg_of(view.chart, f"Plan {view.result.plan_id}", result_line(view.result, view.status))
    if file == STDOUT:
        print(drawn)
        return
    try:
        file.write_text(drawn, encoding="utf-8")
    except OSError as wrong:
        raise BadRequestError(f"--svg: {file}: {wrong.strerror}") from None
