"""Skills without a model, and plans: begun, watched, and told as what they have come to."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from ..conversations.report import Report
from ..fleet import Fleet
from .display import print_json
from .exits import INTERRUPTED, exit_code
from .following import shows, tell_end, watched
from .submit import fleet_for


@dataclass(frozen=True, slots=True)
class Execution:
    """`start`: the id of the conversation; `begun`: what is told in JSON of one that is detached from; `outcome`: in
    JSON, at its end; `show`: prints it for people."""

    start: Callable[[Fleet], str]
    begun: Callable[[Fleet, str], dict[str, Any]]
    outcome: Callable[[Fleet, Report], dict[str, Any]]
    show: Callable[[Fleet, str], None]


def executed(what: Execution, model: str, *, follow: bool | None, detach: bool, as_json: bool) -> int:
    with fleet_for(detach, model) as fleet:
        show = shows(follow, as_json=as_json)
        with _waiting(show=show):
            conversation_id = what.start(fleet)
        if detach:
            print(json.dumps(what.begun(fleet, conversation_id)) if as_json else conversation_id)
            return 0
        if not watched(fleet, conversation_id, show=show):
            return INTERRUPTED
        report = fleet.result(conversation_id)
        if as_json:
            print_json(what.outcome(fleet, report))
        else:
            what.show(fleet, conversation_id)
            tell_end(report, show=show)
        return exit_code(report)


def _waiting(*, show: bool) -> AbstractContextManager[object]:
    """On a terminal it is said what is waited for: a fleet of our own has a worker to start."""
    console = Console(stderr=True)
    waits = show and console.is_terminal
    return console.status("waiting for a worker to tell which skills it can run") if waits else nullcontext()
