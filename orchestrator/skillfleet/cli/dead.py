"""dead list, dead show, dead retry: the calls that were given up because they were lost while they ran."""

import json
import time
from typing import Annotated

import typer

from skillfleet_workers.wire.printable import printable

from ..fleet import Fleet
from ..settings import SCRIPTED
from .display import print_json, stdout_console
from .following import Json
from .submit import Detach, Follow, converse
from .tables import dead_table

app = typer.Typer(help="Calls that were given up because they were lost while they ran.")

CallId = Annotated[str, typer.Argument(help="The call's id, as `dead list` shows it.", show_default=False)]


@app.command("list")
def list_dead(
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many, newest first.")] = 20,
    as_json: Json = False,
) -> None:
    """The newest of them, as long as their conversations are kept."""
    with Fleet() as fleet:
        calls = fleet.dead(limit)
    if as_json:
        print_json([call.model_dump(mode="json") for call in calls])
    elif calls:
        stdout_console().print(dead_table(calls))
    else:
        print("No call was given up.")


@app.command("show")
def show(call_id: CallId, as_json: Json = False) -> None:
    """One of them, with its whole payload."""
    with Fleet() as fleet:
        call = fleet.dead_call(call_id)
    if as_json:
        print_json(call.model_dump(mode="json"))
        return
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(call.at))
    lost = f"lost {call.losses} times" if call.losses != 1 else "lost once"
    print(printable(f"{call.tool} of {call.conversation_id}: {call.reason}, {lost}; {when}"))
    print(printable(f"the last time: {call.said or 'its worker died'}"))
    for name, value in call.request.items():
        print(printable(f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"))


@app.command("retry")
def retry(call_id: CallId, follow: Follow = None, detach: Detach = False, as_json: Json = False) -> int:
    """Make the call once more, in a new conversation that answers with what it brings."""

    def start(fleet: Fleet) -> str:
        return fleet.retry_dead(call_id, detach=detach)

    return converse(start, model=SCRIPTED, follow=follow, detach=detach, as_json=as_json)
