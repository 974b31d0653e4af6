"""submit and follow: a conversation, watched to its end."""

import json
import sys
from typing import Annotated

import typer

from skillfleet_workers.cli import check_worker_settings
from skillfleet_workers.wire.connection import load_settings

from ..app import preload_provider
from ..conversations.report import Report
from ..fleet import Fleet
from ..settings import SCRIPTED, OrchestratorSettings
from .display import Watch, ending
from .exits import INTERRUPTED, complain, exit_code, heed_interrupt
from .printable import printable

Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, nothing else.")]
Id = Annotated[str, typer.Argument(help="The conversation's id.", show_default=False)]


def submit(
    prompt: Annotated[str, typer.Argument(help="What you want answered; `-` reads it from stdin.")],
    follow: Annotated[
        bool | None, typer.Option("--follow/--no-follow", help="Show progress; by default on a terminal.")
    ] = None,
    detach: Annotated[bool, typer.Option("--detach", help="Print the id and leave.")] = False,
    as_json: Json = False,
    skill: Annotated[list[str] | None, typer.Option(help="Only this skill (repeatable).")] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds of wall time for the conversation.")] = None,
    max_turns: Annotated[int | None, typer.Option(help="Most turns.")] = None,
    model: Annotated[str, typer.Option(help="A model's name, or scripted:FILE.")] = "",
    system: Annotated[str | None, typer.Option(help="A system prompt of your own.")] = None,
) -> int:
    """Queue a conversation, and (but with --detach) wait for its answer.

    With no fleet running, it starts one for its own run and stops it.
    """
    settings = load_settings(OrchestratorSettings)
    if prompt == "-":
        prompt = sys.stdin.read()
    if settings.redis_url is None and not detach:
        check_worker_settings()
        if not model.startswith(SCRIPTED):
            preload_provider()
    with Fleet(settings) as fleet:
        name = fleet.submit(
            prompt,
            model=model,
            system=system,
            skills=skill,
            timeout=timeout,
            max_turns=max_turns,
            detach=detach,
        )
        if detach:
            print(json.dumps(fleet.status(name).as_json()) if as_json else name)
            return 0
        show = not as_json and (sys.stderr.isatty() if follow is None else follow)
        return _to_the_end(fleet, name, show=show, as_json=as_json)


def follow(conversation_id: Id, as_json: Json = False) -> int:
    """Watch a conversation from its beginning, then live."""
    with Fleet() as fleet:
        return _to_the_end(fleet, conversation_id, show=not as_json, as_json=as_json)


def result(conversation_id: Id, as_json: Json = False) -> int:
    """Wait for a conversation's end and print its answer."""
    with Fleet() as fleet:
        return _to_the_end(fleet, conversation_id, show=False, as_json=as_json)


def _to_the_end(fleet: Fleet, name: str, *, show: bool, as_json: bool) -> int:
    try:
        with Watch(quiet=not show) as watch:
            for entry in fleet.follow(name):
                heed_interrupt()
                watch.see(entry)
    except KeyboardInterrupt:
        return _interrupted(fleet, name)
    report = fleet.status(name)
    _print_report(report, as_json=as_json, show=show)
    return exit_code(report)


def _interrupted(fleet: Fleet, name: str) -> int:
    """On a fleet of our own the conversation ends with it; a running fleet goes on without us."""
    if not fleet.lone:
        complain(f"detached; {name} goes on: `skillfleet follow {name}`")
        return INTERRUPTED
    fleet.cancel(name)
    fleet.result(name)
    complain(f"cancelled {name}")
    return INTERRUPTED


def _print_report(report: Report, *, as_json: bool, show: bool) -> None:
    if as_json:
        print(json.dumps(report.as_json(), ensure_ascii=False))
        return
    if report.answer is not None:
        print(printable(report.answer) if sys.stdout.isatty() else report.answer)
    if report.error:
        complain(ending(report))
    elif show:
        print(ending(report), file=sys.stderr)
