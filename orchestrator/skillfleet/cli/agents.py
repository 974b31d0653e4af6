"""agent: subagents from the command line; `run` runs a skill without a model."""

import json
import sys
from typing import Annotated, Any

import typer

from skillfleet_workers.wire.printable import printable

from ..fleet import Fleet
from ..settings import SCRIPTED
from . import options
from .agent_queries import QUERIES
from .executing import Execution, executed
from .following import Json
from .json_objects import METAVAR, json_object
from .submit import Detach, Follow

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

    def start(fleet: Fleet) -> str:
        return fleet.submit_skill(
            skill, given, detach=detach, timeout=timeout, name=name, tenant=tenant, priority=priority,
            idempotency_key=idempotency_key,
        )  # fmt: skip

    what = Execution(start, _execution, lambda fleet, report: _execution(fleet, report.id), _show)
    return executed(what, SCRIPTED, follow=follow, detach=detach, as_json=as_json)


def _show(fleet: Fleet, conversation_id: str) -> None:
    result = _execution(fleet, conversation_id)["result"]
    if result is not None:
        text = json.dumps(result, ensure_ascii=False, indent=2)
        print(printable(text) if sys.stdout.isatty() else text)


def _execution(fleet: Fleet, conversation_id: str) -> dict[str, Any]:
    return fleet.skill_execution(conversation_id).model_dump(mode="json")


for query_name, query in QUERIES.items():
    app.command(query_name)(query)
