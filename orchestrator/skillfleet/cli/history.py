"""history: what conversations have done, from SQL. It answers when redis is away, too."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from pydantic import BaseModel
from rich.table import Table

from ..errors import BadRequestError, NoBrokerError
from ..fleet import Fleet
from ..history.answers import ArchivedConversation, SkillStats
from ..history.asked import Asked, Filters, StatsFilters
from ..history.records import SkillExecution
from .display import print_json, stdout_console
from .exits import complain
from .following import Json
from .history_tables import conversations_table, executions_table, fitted, print_csv, print_execution, stats_table
from .stats_plot import bars, write_picture

Told = TypeVar("Told", bound=BaseModel)

LIMIT = 20
Csv = Annotated[bool, typer.Option("--csv", help="Comma-separated values on stdout, with a header.")]
Skill = Annotated[str | None, typer.Option(help="Of this skill.")]
Version = Annotated[str | None, typer.Option(help="Of this version of a skill.")]
Tenant = Annotated[str | None, typer.Option(help="Of this tenant.")]
Since = Annotated[str | None, typer.Option(metavar="TIME", help="From then on: 2026-03-01, or an age: 2h, 7d.")]
Until = Annotated[str | None, typer.Option(metavar="TIME", help="Before then.")]

app = typer.Typer(help="What skills have done, and how long they took.", invoke_without_command=True)


@app.callback()
def executions(
    context: typer.Context,
    agent: Annotated[str | None, typer.Option(metavar="ID", help="Of this conversation.")] = None,
    skill: Skill = None,
    version: Version = None,
    status: Annotated[str | None, typer.Option(help="pending, success, failed or timeout.")] = None,
    since: Since = None,
    until: Until = None,
    tenant: Tenant = None,
    limit: Annotated[int, typer.Option(help="How many, newest first.")] = LIMIT,
    of_conversations: Annotated[
        bool, typer.Option("--conversations", help="Conversations, instead of the skills that they ran.")
    ] = False,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """The newest runs of skills."""
    filters: Filters = {
        "agent": agent, "skill": skill, "version": version, "status": status,
        "since": since, "until": until, "tenant": tenant, "limit": limit,
    }  # fmt: skip
    if context.invoked_subcommand:
        if any(
            [agent, skill, version, status, since, until, tenant, limit != LIMIT, of_conversations, as_json, as_csv]
        ):
            raise BadRequestError(f"write the options after `{context.invoked_subcommand}`")
        return
    Asked.of(filters)  # what is wrong with them comes before what is wrong with redis
    with _fleet() as fleet:
        if of_conversations:
            _tell(fleet.history_conversations(**filters), ArchivedConversation, conversations_table, as_json, as_csv)
        else:
            _tell(fleet.history(**filters), SkillExecution, executions_table, as_json, as_csv)


@app.command("stats")
def stats(
    skill: Skill = None,
    version: Version = None,
    since: Annotated[str | None, typer.Option(metavar="TIME", help="From the day (UTC) of this time on.")] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="To the end of its day.")] = None,
    tenant: Tenant = None,
    as_json: Json = False,
    as_csv: Csv = False,
    plot: Annotated[bool, typer.Option("--plot", help="Bars below the table, not only on a terminal.")] = False,
    png: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw them into this file, too.")] = None,
) -> None:
    """How often skills ran and failed, and how long they took."""
    filters: StatsFilters = {"skill": skill, "version": version, "since": since, "until": until, "tenant": tenant}
    Asked.of(filters)
    with _fleet() as fleet:
        found = fleet.history_stats(**filters)
    _tell(found, SkillStats, stats_table, as_json, as_csv)
    console = stdout_console()
    if found and not (as_json or as_csv) and (plot or console.is_terminal):
        print(f"\n{bars(found, console.width, colours=console.is_terminal)}")
    if found and png is not None:
        write_picture(found, png)


@app.command("show")
def show(
    execution_id: Annotated[str, typer.Argument(help="As `skillfleet history` shows it.", show_default=False)],
    as_json: Json = False,
) -> None:
    """One run of a skill: what it was given, and what it came to."""
    with _fleet() as fleet:
        found = fleet.execution(execution_id)
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        print_execution(found)


@app.command("prune")
def prune(
    older_than: Annotated[str, typer.Option(metavar="AGE", help="Such as 90d or 4w.", show_default=False)],
    statistics: Annotated[
        bool, typer.Option("--stats", help="Forget what was counted on the days before, too.")
    ] = False,
) -> None:
    """Remove conversations that ended longer ago, with all that they did."""
    print(f"removed: {Fleet(notice=complain).prune_history(older_than, statistics=statistics)}")


@contextmanager
def _fleet() -> Iterator[Fleet]:
    """Open, so that what redis has and the history has not is there, too; or not, where redis is away."""
    fleet = Fleet(notice=complain)
    try:
        fleet.__enter__()
    except NoBrokerError as error:
        complain(f"{error}. What follows is what was archived before")
        yield fleet
        return
    with fleet:
        yield fleet


def _tell(
    found: Sequence[Told], kind: type[Told], table: Callable[[Sequence[Told]], Table], as_json: bool, as_csv: bool
) -> None:
    if as_json:
        print_json([one.model_dump(mode="json") for one in found])
    elif as_csv:
        print_csv(found, kind)
    elif found:
        console = stdout_console()
        console.print(fitted(table(found), console))
    else:
        print("Nothing in the history fits.")
