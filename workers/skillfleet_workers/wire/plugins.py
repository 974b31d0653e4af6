"""What other distributions register with SkillFleet, by entry point (Python packaging's specification)."""

from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Any

LOADERS, FILTERS, RUNTIMES, MODELS = (f"skillfleet.{what}" for what in ("loaders", "filters", "runtimes", "models"))
"""Their groups; docs/plugins.md says what each expects."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """`value` is what the entry point names; where it cannot be loaded, `trouble` says why."""

    name: str
    value: Any = None
    trouble: str = ""


@cache
def plugins(group: str) -> tuple[Plugin, ...]:
    """By name. What was there when they were first asked for: a process sees no later installation."""
    return tuple(_loaded(entry.name, entry) for entry in sorted(entry_points(group=group), key=lambda e: e.name))


def _loaded(name: str, entry: Any) -> Plugin:
    try:
        return Plugin(name, entry.load())
    except Exception as wrong:  # noqa: BLE001  code of others, run on import: one that fails must not take all down
        return Plugin(name, trouble=f"{type(wrong).__name__}: {wrong}")
