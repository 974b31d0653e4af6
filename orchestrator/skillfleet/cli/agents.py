"""agent: subagents from the command line; `run` runs a skill without a model."""

import json
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated, Any

import typer
from rich.console import Console

from skillfleet_workers.wire.printable import printable

from ..fleet import Fleet
from ..settings import SCRIPTED
from . import options
from .agent_queries import QUERIES
from .display import ending, print_json
from .exits import INTERRUPTED, complain, exit_code
from .following import Json, watched
from .json_objects import METAVAR, json_object
from .submit import Detach, Follow, fleet_for

app = typer.Typer(help="Subagents: conversations that others began, and skills that run without a model.")

Params = Annotated[
    str, typer.Option("--params", metavar=METAVAR, help="The skill's parameters; @- reads them from stdin.")
]
Name = Annotated[str, typer.Option(help="What to call it.")]
SkillName = Annotated[str, typer.Argument(metavar="SKILL", help="NAME, or NAME@VERSION.", show_default=False)]


@app.command("run")
def run(
    skill: SkillName,
    params: Params = "{}",
    timeout: options.Timeout = None,
    name: Name = "",
    follow: Follow = None,
    detach: Detach = False,
    as_json: Json = False,
    tenant: options.Tenant = None,
    priority: options.Priority = None,
    idempotency_key: options.IdempotencyKey = None,
) -> int:
    """Run a skill, with all that it depends on, without a model, and print what it came to.

    With no fleet running, it starts one for its own run and stops it.
    """
    given = json_object("--params", params, '{"location": "kitchen"}')
    with fleet_for(detach, SCRIPTED) as fleet:
        show = not as_json and (sys.stderr.isatty() if follow is None else follow)
        with _waiting(show=show):
            conversation_id = fleet.submit_skill(
                skill, given, detach=detach, timeout=timeout, name=name, tenant=tenant, priority=priority,
                idempotency_key=idempotency_key,
            )  # fmt: skip
        if detach:
            print(json.dumps(_execution(fleet, conversation_id)) if as_json else conversation_id)
            return 0
        if not watched(fleet, conversation_id, show=show):
            return INTERRUPTED
        return _told(fleet, conversation_id, show=show, as_json=as_json)


def _waiting(*, show: bool) -> AbstractContextManager[object]:
    """On a terminal it is said what is waited for: a fleet of our own has a worker to start."""
    console = Console(stderr=True)
    waits = show and console.is_terminal
    return console.status("waiting for a worker to tell which skills it can run") if waits else nullcontext()


def _told(fleet: Fleet, conversation_id: str, *, show: bool, as_json: bool) -> int:
    report = fleet.result(conversation_id)
    execution = _execution(fleet, conversation_id)
    if as_json:
        print_json(execution)
        return exit_code(report)
    if execution["result"] is not None:
        result = json.dumps(execution["result"], ensure_ascii=False, indent=2)
        print(printable(result) if sys.stdout.isatty() else result)
    if report.error:
        complain(ending(report))
    elif show:
        print(ending(report), file=sys.stderr)
    return exit_code(report)


def _execution(fleet: Fleet, conversation_id: str) -> dict[str, Any]:
    return fleet.skill_execution(conversation_id).model_dump(mode="json")


for query_name, query in QUERIES.items():
    app.command(query_name)(query)
