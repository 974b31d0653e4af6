"""The command line."""

import io
import logging
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from skillfleet_workers.cli import mount_skills, worker

from .. import __version__
from . import exits
from .agents import app as agent
from .artifacts import artifacts
from .dead import app as dead
from .doctor import doctor
from .evals import evaluate
from .following import follow, result
from .history import app as history
from .messages import app as messages
from .persons import answer, approve, deny
from .plans import app as plan
from .queries import cancel, list_conversations, pause, resume, status
from .rules import OrderedCommand
from .serve import archiver, flower, orchestrator, up
from .submit import fork, retry, submit

app = typer.Typer(
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Run LLM conversations on a fleet: every tool call is a Celery task.",
    epilog=exits.EXIT_CODES,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback()
def skillfleet(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help(), file=sys.stderr)
        raise typer.Exit(exits.USAGE)


COMMANDS: dict[str, Callable[..., int | None]] = {
    "submit": submit,
    "follow": follow,
    "status": status,
    "result": result,
    "list": list_conversations,
    "artifacts": artifacts,
    "cancel": cancel,
    "pause": pause,
    "resume": resume,
    "approve": approve,
    "deny": deny,
    "answer": answer,
    "retry": retry,
    "fork": fork,
    "eval": evaluate,
    "up": up,
    "worker": worker,
    "orchestrator": orchestrator,
    "archiver": archiver,
    "flower": flower,
    "doctor": doctor,
}
for name, command in COMMANDS.items():
    app.command(name, cls=OrderedCommand)(command)
app.add_typer(agent, name="agent")
app.add_typer(dead, name="dead")
app.add_typer(history, name="history")
app.add_typer(messages, name="messages")
app.add_typer(plan, name="plan")
mount_skills(app)


def main() -> None:
    if isinstance(sys.stdin, io.TextIOWrapper):
        # By the locale, Python would let bytes that are no text through as lone surrogates.
        sys.stdin.reconfigure(errors="strict")
    # The commands say what matters in a line of their own; `orchestrator` turns its log on.
    logging.getLogger("skillfleet").addHandler(logging.NullHandler())
    raise SystemExit(exits.run(lambda: app(standalone_mode=False)))
