"""agent: subagents from the command line."""

import typer

from .agent_queries import QUERIES

app = typer.Typer(help="Subagents: conversations that others began, and skills that run without a model.")

for name, query in QUERIES.items():
    app.command(name)(query)
