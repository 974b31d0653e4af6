"""messages tail, messages send: what subagents tell each other, and what people tell them."""

from typing import Annotated, Any

import typer

from skillfleet_workers.wire.printable import printable

from ..fleet import Fleet
from ..subagents.mailbox import DEFAULT_PRIORITY, DEFAULT_TTL_S
from .display import print_json
from .exits import complain, heed_interrupt
from .following import Json
from .json_objects import METAVAR, json_object
from .mail_lines import message_line

app = typer.Typer(help="What subagents tell each other, and what you tell them.")

Root = Annotated[
    str | None, typer.Option(help="Of the tree of this conversation and its subagents.", show_default=False)
]


@app.command("tail")
def tail(
    topic: Annotated[
        str | None, typer.Option(help="Only what is published under it; a topic, or `navigation.*`.")
    ] = None,
    root: Root = None,
    from_first: Annotated[bool, typer.Option("--all", help="From the first message that is kept.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per message.")] = False,
) -> None:
    """Show messages as they are sent, until Ctrl-C."""
    with Fleet(notice=complain) as fleet:
        for message in fleet.messages(topic, root, "0" if from_first else "$"):
            heed_interrupt()
            if message is not None:
                print(message.model_dump_json() if as_json else printable(message_line(message)), flush=True)


@app.command("send")
def send(
    payload: Annotated[
        str, typer.Option(metavar=METAVAR, help="A JSON object; @- reads it from stdin.", show_default=False)
    ],
    recipient: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="A conversation or subagent; else --topic.")
    ] = None,
    topic: Annotated[str | None, typer.Option(help="For all that hear it in the tree of --root.")] = None,
    root: Root = None,
    kind: Annotated[str, typer.Option("--type", help="event, request, response or error.")] = "event",
    ttl: Annotated[int, typer.Option(help="Seconds after which nobody is given it any more.")] = DEFAULT_TTL_S,
    priority: Annotated[int, typer.Option(help="1, which comes first, to 10.")] = DEFAULT_PRIORITY,
    correlation_id: Annotated[str | None, typer.Option(help="Of the request that it answers.")] = None,
    as_json: Json = False,
) -> None:
    """Send a message to a conversation, or to all that hear a topic."""
    given: dict[str, Any] = {"topic": topic, "root": root, "message_type": kind, "ttl": ttl}
    given |= {"priority": priority, "correlation_id": correlation_id}
    told = json_object("--payload", payload, '{"room": "kitchen"}')
    with Fleet() as fleet:
        sent = fleet.send(recipient, payload=told, **given)
    if as_json:
        print_json(sent.model_dump(mode="json"))
    else:
        print(f"{sent.message_id}: delivered to {sent.delivered_to}")
