"""plan run, plan submit: a plan is executed, or written first."""

import json
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ..fleet import Fleet
from ..running_plans import GivenPlan
from ..settings import SCRIPTED
from . import options
from .display import ending, print_json
from .exits import INTERRUPTED, complain, exit_code
from .following import Json, watched
from .options import asked_by
from .plan_queries import print_attempt
from .rules import Allow, Ask, Deny, rules_of
from .submit import Detach, Follow, fleet_for

PlanFile = Annotated[str, typer.Argument(metavar="FILE", help="The plan, as JSON; `-` reads it from stdin.")]
PlanTimeout = Annotated[float | None, typer.Option(help="Most seconds for the plan, from when it begins (60).")]
ToolTimeout = Annotated[int | None, typer.Option(help="Most seconds for each run of a tool (30).")]
Prompt = Annotated[str, typer.Argument(help="What you want done; `-` reads it from stdin.")]


def run(
    context: typer.Context,
    file: PlanFile,
    timeout: PlanTimeout = None,
    tool_timeout: ToolTimeout = None,
    skill: options.Skill = None,
    follow: Follow = None,
    detach: Detach = False,
    as_json: Json = False,
    ask: Ask = None,
    allow: Allow = None,
    deny: Deny = None,
    person_timeout: options.PersonTimeout = None,
    tenant: options.Tenant = None,
    priority: options.Priority = None,
    idempotency_key: options.IdempotencyKey = None,
) -> int:
    """Execute a plan, and print what it came to.

    With no fleet running, it starts one for its own run and stops it.
    """
    plan: GivenPlan = sys.stdin.read() if file == "-" else Path(file)
    rules = rules_of(context, ask=ask, allow=allow, deny=deny)

    def start(fleet: Fleet) -> str:
        return fleet.submit_plan(
            plan, detach=detach, timeout=timeout, tool_timeout=tool_timeout, skills=skill, rules=rules,
            person_timeout=person_timeout, tenant=tenant, priority=priority, idempotency_key=idempotency_key,
        )  # fmt: skip

    return _executed(start, SCRIPTED, follow=follow, detach=detach, as_json=as_json)


def submit(
    context: typer.Context,
    prompt: Prompt,
    follow: Follow = None,
    detach: Detach = False,
    as_json: Json = False,
    skill: options.Skill = None,
    timeout: options.Timeout = None,
    max_input_tokens: options.MaxInputTokens = None,
    max_output_tokens: options.MaxOutputTokens = None,
    max_cost: options.MaxCost = None,
    model: options.Model = "",
    tenant: options.Tenant = None,
    priority: options.Priority = None,
    ask: Ask = None,
    allow: Allow = None,
    deny: Deny = None,
    person_timeout: options.PersonTimeout = None,
    idempotency_key: options.IdempotencyKey = None,
) -> int:
    """Let the model write a plan and execute it; where it fails another one, without the skills that have failed."""
    asked = asked_by(context)

    def start(fleet: Fleet) -> str:
        text = sys.stdin.read() if prompt == "-" else prompt
        return fleet.submit_planning(text, detach=detach, **asked, idempotency_key=idempotency_key)

    return _executed(start, model, follow=follow, detach=detach, as_json=as_json)


def _executed(start: Callable[[Fleet], str], model: str, *, follow: bool | None, detach: bool, as_json: bool) -> int:
    with fleet_for(detach, model) as fleet:
        show = not as_json and (sys.stderr.isatty() if follow is None else follow)
        with _waiting(show=show):
            conversation_id = start(fleet)
        if detach:
            print(json.dumps(fleet.status(conversation_id).as_json()) if as_json else conversation_id)
            return 0
        if not watched(fleet, conversation_id, show=show):
            return INTERRUPTED
        return _told(fleet, conversation_id, show=show, as_json=as_json)


def _waiting(*, show: bool) -> AbstractContextManager[object]:
    console = Console(stderr=True)
    waits = show and console.is_terminal
    return console.status("waiting for a worker to tell which skills it can run") if waits else nullcontext()


def _told(fleet: Fleet, conversation_id: str, *, show: bool, as_json: bool) -> int:
    report, attempts = fleet.result(conversation_id), fleet.plan_attempts(conversation_id)
    if as_json:
        print_json(_last_result(fleet, attempts) or report.as_json())
        return exit_code(report)
    for attempt in attempts[-1:]:
        print_attempt(fleet, attempt)
    if report.error:
        complain(ending(report))
    elif show:
        print(ending(report), file=sys.stderr)
    return exit_code(report)


def _last_result(fleet: Fleet, attempts: tuple[str, ...]) -> dict[str, Any] | None:
    return fleet.plan_result(attempts[-1]).as_json() if attempts else None
