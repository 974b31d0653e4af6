"""submit, retry, fork: a new conversation."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from skillfleet_workers.cli import check_worker_settings
from skillfleet_workers.wire.connection import load_settings

from ..app import preload_provider
from ..errors import BadRequestError
from ..fleet import Fleet
from ..settings import PLAYED, REPLAY, OrchestratorSettings
from . import options
from .batches import submit_batch
from .exits import INTERRUPTED, complain
from .following import Id, Json, shows, to_the_end
from .options import asked_by
from .recordings import check_recording, write_recording
from .rules import Allow, Ask, Deny

Follow = Annotated[bool | None, typer.Option("--follow/--no-follow", help="Show progress; by default on a terminal.")]
Detach = Annotated[bool, typer.Option("--detach", help="Print the id and leave.")]
Prompt = Annotated[str | None, typer.Argument(help="What you want answered; `-` reads it from stdin.")]


def submit(
    context: typer.Context,
    prompt: Prompt = None,
    follow: Follow = None,
    detach: Detach = False,
    as_json: Json = False,
    skill: options.Skill = None,
    timeout: options.Timeout = None,
    max_turns: options.MaxTurns = None,
    max_tool_calls: options.MaxToolCalls = None,
    max_input_tokens: options.MaxInputTokens = None,
    max_output_tokens: options.MaxOutputTokens = None,
    max_cost: options.MaxCost = None,
    model: options.Model = "",
    system: options.System = None,
    tenant: options.Tenant = None,
    priority: options.Priority = None,
    image: options.Image = None,
    file: options.File = None,
    continues: options.Continue = None,
    idempotency_key: options.IdempotencyKey = None,
    schema: options.Schema = None,
    record: options.Record = None,
    ask: Ask = None,
    allow: Allow = None,
    deny: Deny = None,
    ask_user: options.AskUser = False,
    person_timeout: options.PersonTimeout = None,
    subagents: options.Subagents = False,
    plans: options.Plans = False,
    max_children: options.MaxChildren = None,
    batch: options.Batch = None,
) -> int:
    """Queue a conversation, and (but with --detach) wait for its answer.

    With no fleet running, it starts one for its own run and stops it.
    """
    if (prompt is None) == (batch is None) and not (prompt is None and model.startswith(REPLAY)):
        raise BadRequestError("say what you want answered: PROMPT, or --batch FILE")
    if record is not None:
        check_recording(record, detach=detach, batch=batch is not None)
    asked = asked_by(context)
    if batch is not None:
        if continues:
            raise BadRequestError("--continue goes with one PROMPT, not with --batch")
        with fleet_for(detach, model) as fleet:
            return submit_batch(fleet, batch, asked, idempotency_key or "", detach=detach, as_json=as_json)

    def start(fleet: Fleet) -> str:
        text = _text(prompt or "")
        own: dict[str, Any] = {"continues": continues, "record": record is not None, "detach": detach}
        return fleet.submit(text, **asked, **own, idempotency_key=idempotency_key)

    return converse(start, model=model, follow=follow, detach=detach, as_json=as_json, record=record)


def retry(conversation_id: Id, follow: Follow = None, detach: Detach = False, as_json: Json = False) -> int:
    """Go on from the last good turn of a conversation that has no answer, in a new one."""

    def start(fleet: Fleet) -> str:
        return fleet.retry(conversation_id, detach=detach)

    return converse(start, follow=follow, detach=detach, as_json=as_json)


def fork(
    conversation_id: Id,
    prompt: Annotated[str, typer.Argument(help="What you want answered now; `-` reads it from stdin.")],
    at: Annotated[int, typer.Option(help="The last turn to keep.")],
    follow: Follow = None,
    detach: Detach = False,
    as_json: Json = False,
) -> int:
    """Go on from a turn of an ended conversation with another prompt, in a new one."""

    def start(fleet: Fleet) -> str:
        return fleet.fork(conversation_id, _text(prompt), at=at, detach=detach)

    return converse(start, follow=follow, detach=detach, as_json=as_json)


def _text(prompt: str) -> str:
    return sys.stdin.read() if prompt == "-" else prompt


def fleet_for(detach: bool, model: str = "") -> Fleet:
    settings = load_settings(OrchestratorSettings)
    if settings.redis_url is None and not detach:
        check_worker_settings()
        if not model.startswith(PLAYED):
            preload_provider(settings, model)
    return Fleet(settings, notice=complain)


def converse(
    start: Callable[[Fleet], str],
    *,
    model: str = "",
    follow: bool | None,
    detach: bool,
    as_json: bool,
    record: Path | None = None,
) -> int:
    with fleet_for(detach, model) as fleet:
        name = start(fleet)
        if detach:
            print(json.dumps(fleet.status(name).as_json()) if as_json else name)
            return 0
        show = shows(follow, as_json=as_json)
        code = to_the_end(fleet, name, show=show, as_json=as_json)
        if record is not None and code != INTERRUPTED:
            write_recording(fleet.record(name), record)
        return code
