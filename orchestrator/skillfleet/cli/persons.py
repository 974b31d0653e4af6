"""approve, deny, answer: what a person says to a call that waits for one."""

import sys
from typing import Annotated

import typer

from skillfleet_workers.wire.printable import printable

from ..fleet import Fleet
from .display import print_json
from .following import Id, Json

CallKey = Annotated[
    str | None,
    typer.Argument(metavar="[CALL]", help="The key of a call, such as 1.0; else all that wait.", show_default=False),
]
Reason = Annotated[str, typer.Option(help="Why.")]


def approve(conversation_id: Id, call: CallKey = None, reason: Reason = "", as_json: Json = False) -> None:
    """Let a call be made that waits for leave."""
    with Fleet() as fleet:
        _tell(fleet, conversation_id, "approved", fleet.approve(conversation_id, call, reason=reason), as_json)


def deny(conversation_id: Id, call: CallKey = None, reason: Reason = "", as_json: Json = False) -> None:
    """Refuse a call that waits for leave; the model is told the reason."""
    with Fleet() as fleet:
        _tell(fleet, conversation_id, "denied", fleet.deny(conversation_id, call, reason=reason), as_json)


def answer(
    conversation_id: Id,
    text: Annotated[str, typer.Argument(help="The answer; `-` reads it from stdin.")],
    call: Annotated[
        str | None, typer.Option(help="The key of its call, such as 1.0; needed where there are several.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Answer a question of the model's."""
    words = sys.stdin.read() if text == "-" else text
    with Fleet() as fleet:
        _tell(fleet, conversation_id, "answered", (fleet.answer(conversation_id, words, call),), as_json)


def _tell(fleet: Fleet, conversation_id: str, done: str, keys: tuple[str, ...], as_json: bool) -> None:
    report = fleet.status(conversation_id)
    if as_json:
        print_json(report.as_json())
        return
    names = {call.key: call.of_plan or call.name for call in report.tool_calls}
    for key in keys:
        print(printable(f"{conversation_id}: {done} {key} {names.get(key, '')}".rstrip()))
