"""Subagents, as people read them."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from rich.table import Column, Table
from rich.text import Text
from rich.tree import Tree

from skillfleet_workers.wire.printable import printable
from skillfleet_workers.wire.shown import short

from ..subagents.view import Subagent
from .tables import one_line

RESULT_CHARS = 60


def agents_table(agents: Sequence[Subagent]) -> Table:
    whole = Column("id", no_wrap=True, min_width=max(len(one.agent_id) for one in agents))
    table = Table(whole, "name", "state", "skill", "seconds", "came to", box=None, pad_edge=False)
    for one in agents:
        texts = (one.agent_id, one.name, one.state, one.assigned_skill or "", _seconds(one))
        table.add_row(*(Text(printable(text)) for text in texts), one_line(_came_to(one)))
    return table


def agents_trees(agents: Sequence[Subagent]) -> list[Tree]:
    """Each under the one that began it; where that is not among them, under the root of its tree."""
    oldest_first = sorted(agents, key=lambda one: (one.depth, one.created_at, one.agent_id))
    nodes, tops = dict[str, Tree](), list[Tree]()
    for one in oldest_first:
        above = nodes.get(one.parent_id or "") or nodes.get(one.root)
        node = above.add(_label(one)) if above else Tree(_label(one))
        if above is None:
            tops.append(node)
        nodes[one.agent_id] = node
    return tops


def agent_lines(agent: Subagent) -> list[str]:
    """Its fields, but for the empty ones."""
    told = agent.model_dump(mode="json", exclude={"results"})
    named = {name: value for name, value in told.items() if value not in (None, "", {}, [])}
    named |= {f"result of {skill}": result for skill, result in agent.results.items()}
    return [printable(f"{name}: {_text(value)}") for name, value in named.items()]


def _label(one: Subagent) -> Text:
    parts = (one.agent_id, one.name, one.state, one.assigned_skill or "", _came_to(one))
    return Text(printable("  ".join(part for part in parts if part)))


def _seconds(one: Subagent) -> str:
    if one.started_at is None:
        return ""
    return f"{((one.completed_at or datetime.now(UTC)) - one.started_at).total_seconds():.1f}"


def _came_to(one: Subagent) -> str:
    return short(one.error or one.answer or (_text(one.results) if one.results else ""), RESULT_CHARS)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
