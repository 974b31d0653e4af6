"""status, list, cancel, pause, resume: what the ledger knows and does. They start redis alone, and no fleet."""

from typing import Annotated

import typer

from skillfleet_workers.wire.printable import printable

from ..fleet import Fleet
from .agent_display import agents_table
from .asking import questions
from .display import ending, literal, print_json, stdout_console
from .following import Id, Json
from .tables import calls_table, conversations_table

MOST_AGENTS = 100
"""Of a conversation's subagents, those that are shown, the newest."""


def status(conversation_id: Id, as_json: Json = False) -> None:
    """Where a conversation stands, its tool calls, and its subagents."""
    with Fleet() as fleet:
        report = fleet.status(conversation_id)
        agents = fleet.agents(MOST_AGENTS, parent=conversation_id) if report.subagents and not as_json else ()
    if as_json:
        print_json(report.as_json())
        return
    console = stdout_console()
    console.print(ending(report), markup=False)
    if report.tool_calls:
        console.print(calls_table(report))
    if agents:
        console.print(agents_table(agents))
    for question in questions(report):
        console.print(literal(question.told))
    if report.answer:
        console.print(printable(report.answer) if console.is_terminal else report.answer, markup=False)


def list_conversations(
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many, newest first.")] = 20,
    as_json: Json = False,
) -> None:
    """The newest conversations."""
    with Fleet() as fleet:
        reports = fleet.list(limit)
    if as_json:
        print_json([report.as_json() for report in reports])
    elif reports:
        stdout_console().print(conversations_table(reports))
        for report in reports:
            for question in questions(report):
                stdout_console().print(literal(question.told))
    else:
        print("No conversations yet: `skillfleet submit PROMPT` queues one.")


def cancel(conversation_id: Id, as_json: Json = False) -> None:
    """End a conversation; what it runs is killed."""
    with Fleet() as fleet:
        asked = fleet.cancel(conversation_id)
        report = fleet.status(conversation_id)
    if as_json:
        print_json(report.as_json())
    else:
        print(f"{conversation_id}: {'cancelling' if asked else f'had ended already ({report.status})'}")


def pause(conversation_id: Id, as_json: Json = False) -> None:
    """Start nothing more of a conversation; calls that run finish, and its deadline waits."""
    with Fleet() as fleet:
        fleet.pause(conversation_id)
        _tell(fleet, conversation_id, "paused", as_json)


def resume(conversation_id: Id, as_json: Json = False) -> None:
    """Let a conversation that was paused go on."""
    with Fleet() as fleet:
        fleet.resume(conversation_id)
        _tell(fleet, conversation_id, "goes on", as_json)


def _tell(fleet: Fleet, conversation_id: str, done: str, as_json: bool) -> None:
    if as_json:
        print_json(fleet.status(conversation_id).as_json())
    else:
        print(f"{conversation_id}: {done}")
