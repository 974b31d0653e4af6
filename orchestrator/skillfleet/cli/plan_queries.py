"""plan show: the attempts at a plan, their tools, and when each ran."""

import json
from pathlib import Path
from typing import Annotated

import typer

from skillfleet_workers.wire.printable import printable

from ..errors import BadRequestError
from ..fleet import Fleet
from ..plans.gantt_svg import svg_of
from ..plans.models import ExecutionResult
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
        attempts = fleet.plan_attempts(conversation_id)
        if not attempts and not fleet.transcript(conversation_id).spec.planning:
            raise BadRequestError(f"{conversation_id} executes no plan")
        if svg is not None:
            _draw(fleet, attempts, svg)
            if svg == STDOUT:
                return
        if as_json:
            print_json([fleet.plan_result(one).as_json() for one in attempts])
            return
        asked = fleet.transcript(conversation_id)
        if not attempts:
            print(f"{conversation_id}: no plan was executed{'' if asked.terminal else ' yet'}")
        for one in attempts:
            if asked.spec.planning:
                plan = fleet.transcript(one).spec.plan
                number = plan.plan.metadata.generation_attempt if plan else 1
                stdout_console().print(f"[bold]attempt {number}[/]: {literal(one)}")
            print_attempt(fleet, one)
        if asked.spec.planning and asked.error:
            print(printable(f"{asked.error.message} {asked.error.fix}".strip()))


def print_attempt(fleet: Fleet, conversation_id: str) -> None:
    console, (result, line) = stdout_console(), _told(fleet, conversation_id)
    console.print(f"[bold]plan {result.plan_id}[/] {literal(line)}")
    if result.narrative:
        console.print(literal(result.narrative))
    console.print(gantt_table(result, fleet.plan_chart(conversation_id), console.width))
    for line in error_lines(result.execution_trace):
        console.print(line, markup=False)
    if result.final_state:
        state = json.dumps(result.final_state, ensure_ascii=False, indent=2)
        console.print(f"state: {printable(state) if console.is_terminal else state}", markup=False)


def _told(fleet: Fleet, conversation_id: str) -> tuple[ExecutionResult, str]:
    """What it has come to, and that in a line."""
    status = fleet.transcript(conversation_id).status  # before the result: it may end between the two
    result = fleet.plan_result(conversation_id)
    return result, result_line(result, status)


def _draw(fleet: Fleet, attempts: tuple[str, ...], file: Path) -> None:
    """Raises: BadRequestError"""
    if not attempts:
        raise BadRequestError("--svg: no plan was executed yet")
    result, line = _told(fleet, attempts[-1])
    drawn = svg_of(fleet.plan_chart(attempts[-1]), f"Plan {result.plan_id}", line)
    if file == STDOUT:
        print(drawn)
        return
    try:
        file.write_text(drawn, encoding="utf-8")
    except OSError as wrong:
        raise BadRequestError(f"--svg: {file}: {wrong.strerror}") from None
