"""skills enable and disable: whether this machine's workers run a skill."""

from typing import Annotated

import typer

from ..skills.overrides import set_enabled
from .machine import Machine
from .told import UsageError, say, unknown_skill

Name = Annotated[str, typer.Argument(help="The skill.", show_default=False)]


def enable(name: Name) -> None:
    """Let this machine's workers run a skill again."""
    _set(name, True)


def disable(name: Name) -> None:
    """Have this machine's workers run a skill no more, until it is enabled."""
    _set(name, False)


def _set(name: str, enabled: bool) -> None:
    machine = Machine()
    if name not in machine.names:
        raise unknown_skill(name, machine.names)
    path = machine.settings.skills_config
    if problem := set_enabled(path, name, enabled):
        raise UsageError(f"{problem}; {problem.fix}")
    say(f"{name}: {'enabled' if enabled else 'disabled'} in {path}")
