"""The order in which a plan's tools may run, and why there is none (pure)."""

from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from .models import ToolInvocation

Needs = Mapping[str, Sequence[str]]
"""By tool id, the tools that come first."""


def needs_of(tools: Sequence[ToolInvocation]) -> Needs:
    return {tool.tool_id: tool.dependencies for tool in tools}


def levels(needs: Needs) -> Iterator[tuple[str, ...]]:
    """One after the other: those whose dependencies all stand in the levels before, in the order of the plan.

    Raises:
        CycleError
    """
    place = {tool_id: index for index, tool_id in enumerate(needs)}
    sorter = TopologicalSorter(needs)
    sorter.prepare()
    while sorter.is_active():
        ready = sorted(sorter.get_ready(), key=place.__getitem__)
        yield tuple(ready)
        sorter.done(*ready)


def order(needs: Needs) -> tuple[str, ...]:
    """Each after those that it needs.

    Raises:
        CycleError
    """
    return tuple(tool_id for level in levels(needs) for tool_id in level)


def cycle(needs: Needs) -> tuple[str, ...]:
    """One, from a tool by way of those that it needs to itself; empty: there is none."""
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as found:
        return tuple(reversed(found.args[1]))  # graphlib names what is needed first
    return ()


def ancestors(needs: Needs) -> Mapping[str, frozenset[str]]:
    """By tool, all that come before it.

    Raises:
        CycleError
    """
    before: dict[str, frozenset[str]] = {}
    for tool_id in order(needs):
        own = needs[tool_id]
        before[tool_id] = frozenset(own).union(*(before[one] for one in own))
    return before
