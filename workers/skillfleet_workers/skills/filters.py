"""Filters of others: what a distribution offers under the entry point group `skillfleet.filters`."""

from importlib.metadata import EntryPoint, entry_points

from ..wire.plugins import FILTERS
from .eligibility import Filter, Host
from .models import Skill


def installed_filters() -> dict[str, Filter]:
    """By name. One that cannot be loaded raises when it is asked: what it would refuse is not run unjudged."""
    return {found.name: _loaded_later(found) for found in sorted(entry_points(group=FILTERS), key=lambda it: it.name)}


def _loaded_later(found: EntryPoint) -> Filter:
    def ask(skill: Skill, host: Host) -> str | None:
        why: str | None = found.load()(skill, host)
        return why

    return ask
