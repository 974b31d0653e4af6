"""What `submit` takes, each option once: its type and its help."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .rules import rules_of

NAMES = {"skill": "skills", "image": "images", "file": "files"}
"""Of repeatable options, what Fleet.submit calls them."""

OWN = ("context", "prompt", "follow", "detach", "as_json", "continues", "idempotency_key", "record", "batch")
RULES = ("ask", "allow", "deny")

Skill = Annotated[list[str] | None, typer.Option(help="Only this skill (repeatable).")]
Timeout = Annotated[float | None, typer.Option(help="Most seconds of wall time (900).")]
MaxTurns = Annotated[int | None, typer.Option(help="Most replies of the model (30).")]
MaxToolCalls = Annotated[int | None, typer.Option(help="Most tool calls that are made.")]
MaxInputTokens = Annotated[int | None, typer.Option(help="Most tokens that models read.")]
MaxOutputTokens = Annotated[int | None, typer.Option(help="Most tokens that models write.")]
MaxCost = Annotated[float | None, typer.Option(help="Most that models cost, in the currency of their prices.")]
Model = Annotated[str, typer.Option(help="NAME, openai:NAME, anthropic:NAME, scripted:FILE, or replay:FILE.")]
System = Annotated[str | None, typer.Option(help="A system prompt of your own.")]
Tenant = Annotated[str | None, typer.Option(help="For whom; tenants share the fleet alike (default).")]
Priority = Annotated[int | None, typer.Option(help="1, which comes first, to 10 (5).")]
Image = Annotated[
    list[Path] | None, typer.Option(help="An image for the model to see, and for scripts (repeatable).")
]
File = Annotated[list[Path] | None, typer.Option(help="A file for scripts (repeatable).")]
Continue = Annotated[str | None, typer.Option("--continue", help="Go on from this ended one (ID).")]
IdempotencyKey = Annotated[
    str | None, typer.Option(help="Submitted again by the tenant with the same key, it is the same conversation.")
]
Schema = Annotated[
    str | None, typer.Option(metavar="FILE", help="The answer is JSON that fits this JSON Schema (JSON or YAML).")
]
Record = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Keep what the model was asked and said, for replay:FILE.")
]
AskUser = Annotated[bool, typer.Option("--ask-user", help="The model may ask you questions.")]
PersonTimeout = Annotated[float | None, typer.Option(help="Seconds for which it waits for a person at most (86400).")]
Subagents = Annotated[bool, typer.Option("--subagents", help="It may begin subagents, which exchange messages.")]
Plans = Annotated[bool, typer.Option("--plans", help="It may execute plans: DAGs of scripts.")]
MaxChildren = Annotated[int | None, typer.Option(help="Most subagents of its own at once (10).")]
Batch = Annotated[Path | None, typer.Option(help='A file of JSON lines, each {"prompt": ...}; instead of PROMPT.')]


def asked_by(context: typer.Context) -> dict[str, Any]:
    """What Fleet.submit and the lines of a batch take of it: those options that were given."""
    given = {name: value for name, value in context.params.items() if name not in (*OWN, *RULES)}
    given["model"] = given["model"] or None
    given["rules"] = rules_of(context, **{verdict: context.params[verdict] for verdict in RULES})
    return {NAMES.get(name, name): value for name, value in given.items() if not _is_left_out(value)}


def _is_left_out(value: object) -> bool:
    """0 and an empty text are not."""
    return value is None or value is False or value in ([], ())
