"""plan run, plan submit: a plan is executed, or written first."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from ..conversations.report import Report
from ..fleet import Fleet
from ..running_plans import GivenPlan
from ..settings import SCRIPTED
from . import options
from .executing import Execution, executed
from .following import Json
from .options import asked_by
from .plan_queries import print_attempt
from .rules import Allow, Ask, Deny, rules_of
from .submit import Detach, Follow

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

    return executed(_execution(start), SCRIPTED, follow=follow, detach=detach, as_json=as_json)


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

    return executed(_execution(start), model, follow=follow, detach=detach, as_json=as_json)


def _execution(start: Callable[[Fleet], str]) -> Execution:
    return Execution(start, _status, _last_result, _show)


def _status(fleet: Fleet, conversation_id: str) -> dict[str, Any]:
    return fleet.status(conversation_id).as_json()


def _last_result(fleet: Fleet, report: Report) -> dict[str, Any]:
    """Where planning was in vain: the fallback, which is the answer."""
    attempts = fleet.plan_attempts(report.id)
    if report.answer and report.status != "completed" and fleet.transcript(report.id).spec.planning:
        fallback: dict[str, Any] = json.loads(report.answer)
        return fallback
    return fleet.plan_result(attempts[-1]).as_json() if attempts else report.as_json()


def _show(fleet: Fleet, conversation_id: str) -> None:
    for attempt in fleet.plan_attempts(conversation_id)[-1:]:
        print_attempt(fleet.plan_view(attempt))
