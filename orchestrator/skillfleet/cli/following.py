"""follow and result: a conversation, watched to its end."""

import sys
from typing import Annotated

import typer

from skillfleet_workers.wire.printable import printable

from ..conversations.report import Report
from ..fleet import Fleet
from .asking import Asker
from .display import Watch, divergence_lines, ending, print_json
from .exits import INTERRUPTED, complain, exit_code, heed_interrupt
from .terminal import Terminal

Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, nothing else.")]
Id = Annotated[str, typer.Argument(help="The conversation's id.", show_default=False)]


def follow(conversation_id: Id, as_json: Json = False) -> int:
    """Watch a conversation from its beginning, then live."""
    with Fleet(notice=complain) as fleet:
        return to_the_end(fleet, conversation_id, show=not as_json, as_json=as_json)


def result(conversation_id: Id, as_json: Json = False) -> int:
    """Wait for a conversation's end and print its answer."""
    with Fleet(notice=complain) as fleet:
        return to_the_end(fleet, conversation_id, show=False, as_json=as_json)


def shows(follow: bool | None, *, as_json: bool) -> bool:
    """Whether people watch it. `follow` None: where stderr is a terminal."""
    return not as_json and (sys.stderr.isatty() if follow is None else follow)


def to_the_end(fleet: Fleet, name: str, *, show: bool, as_json: bool) -> int:
    if not watched(fleet, name, show=show):
        return INTERRUPTED
    report = fleet.result(name)
    _print_report(report, as_json=as_json, show=show)
    return exit_code(report)


def watched(fleet: Fleet, name: str, *, show: bool) -> bool:
    """To its end; or it was interrupted."""
    try:
        with Watch(quiet=not show) as watch:
            asker = Asker(fleet, name, watch, Terminal.of_user() if show else None)
            for entry in fleet.follow(name, live=show):
                heed_interrupt()
                watch.see(entry)
                asker.see(entry)
    except KeyboardInterrupt:
        _interrupted(fleet, name)
        return False
    return True


def _interrupted(fleet: Fleet, name: str) -> None:
    """On a fleet of our own the conversation ends with it; a running fleet goes on without us."""
    if not fleet.lone:
        complain(f"detached; {name} goes on: `skillfleet follow {name}`")
        return
    fleet.cancel(name)
    fleet.result(name)
    complain(f"cancelled {name}")


def _print_report(report: Report, *, as_json: bool, show: bool) -> None:
    for line in divergence_lines(report.divergences):
        complain(line)
    if as_json:
        print_json(report.as_json())
        return
    if report.answer is not None:
        print(printable(report.answer) if sys.stdout.isatty() else report.answer)
    tell_end(report, show=show)


def tell_end(report: Report, *, show: bool) -> None:
    """`show`: also where it went well."""
    if report.error:
        complain(ending(report))
    elif show:
        print(ending(report), file=sys.stderr)
