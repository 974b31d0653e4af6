"""plan: DAGs of tools, checked, executed, and looked at."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from skillfleet_workers.wire.printable import printable

from ..errors import BadRequestError
from ..plans.checking import Wrong, read_plan
from ..plans.graph import levels, needs_of
from ..plans.models import PlanJson
from ..plans.schemas import SCHEMAS, schema_of
from .exits import USAGE, complain
from .following import Json
from .plan_display import plan_line
from .plan_queries import show
from .plan_runs import run, submit
from .rules import OrderedCommand

app = typer.Typer(help="Plans: scripts of skills as a DAG of tools, executed by the fleet.")

PlanFile = Annotated[str, typer.Argument(metavar="FILE", help="The plan, as JSON; `-` reads it from stdin.")]
SchemaName = Annotated[str, typer.Argument(metavar="NAME", help=" or ".join(SCHEMAS))]


@app.command("validate")
def validate(file: PlanFile, as_json: Json = False) -> int:
    """Check a plan, without a fleet: every error with its place. `run` looks whether the skills are there, too."""
    found = read_plan(_content(file))
    wrong = () if isinstance(found, PlanJson) else found
    if as_json:
        told = [{"place": one.place, "message": one.message} for one in wrong]
        print(json.dumps({"valid": not wrong, "errors": told}, ensure_ascii=False))
    elif isinstance(found, PlanJson):
        _tell(file, found)
    else:
        _complain(file, found)
    return USAGE if wrong else 0


@app.command("schema")
def schema(name: SchemaName = "plan-json") -> None:
    """Print the JSON Schema of a plan, or of its execution result."""
    if name not in SCHEMAS:
        raise BadRequestError(f"there is no schema {name!r}; there are: {', '.join(SCHEMAS)}")
    print(json.dumps(schema_of(SCHEMAS[name]), indent=2))


def _content(file: str) -> bytes:
    """Raises: BadRequestError"""
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as wrong:
        raise BadRequestError(f"{file}: {wrong.strerror}") from None


def _tell(file: str, plan: PlanJson) -> None:
    found = list(levels(needs_of(plan.tools)))
    print(f"{printable(file)}: {plan_line(plan, len(found))}")
    for number, level in enumerate(found, start=1):
        print(f"  {number}. {', '.join(level)}")


def _complain(file: str, wrong: tuple[Wrong, ...]) -> None:
    for one in wrong:
        complain(f"{file}: {one}")


for command in (run, submit):
    app.command(cls=OrderedCommand)(command)
app.command("show")(show)
