"""What a skill folder is to the rest of the worker."""

from dataclasses import dataclass
from pathlib import Path

NO_DESCRIPTION = "No description."


@dataclass(frozen=True, slots=True)
class Skill:
    """`name` is the folder's name, whatever SKILL.md says; `root` is resolved.

    `documentation` is the file name of its SKILL.md as it is spelled there; `body_offset` the byte at which
    the text after the frontmatter starts. `timeout` is in seconds. `env` names the variables that its scripts
    may see. `problems` are warnings: the skill works.
    """

    name: str
    root: Path
    description: str = NO_DESCRIPTION
    documentation: str | None = None
    body_offset: int = 0
    version: str = "0.0.0"
    timeout: int | None = None
    requirements: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Skipped:
    """A folder that could not be loaded as a skill, and why."""

    name: str
    reason: str
