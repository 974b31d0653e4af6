"""What a skill folder is to the rest of the worker."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ..wire.contract import Effects

NO_DESCRIPTION = "No description."

WITHHELD = ("LLM_", "SKILLFLEET_REDIS")
"""No skill is given a variable of the worker whose name starts like this, whatever it declares."""

InputMode = Literal["text", "json", "ndjson"]
SkillNetwork = Literal["none", "host"]
RuntimeChoice = Literal["auto", "warm", "process", "container"]


@dataclass(frozen=True, slots=True)
class Skill:
    """`name` is the folder's name, whatever SKILL.md says; `root` is resolved.

    `documentation` is the file name of its SKILL.md as it is spelled there; `body_offset` the byte at which
    the text after the frontmatter starts. `timeout` is in seconds, `max_retries` how often a script of it that failed
    is run again. `env` names the variables that its scripts may see, `allowed_tools` what SKILL.md allows (None: it
    does not say). `protocol` maps a script's name to how it is fed. `effects`: whether its scripts may be run twice.
    `spec` and `context` are paths of JSON files in it, for code that may also import `imports`. What no
    key of `metadata.skillfleet` says is None, or the default shown. `problems` are warnings: the skill works.
    """

    name: str
    root: Path
    description: str = NO_DESCRIPTION
    documentation: str | None = None
    body_offset: int = 0
    version: str = "0.0.0"
    timeout: int | None = None
    max_retries: int = 0
    requirements: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    allowed_tools: tuple[str, ...] | None = None
    protocol: Mapping[str, InputMode] = field(default_factory=dict, hash=False)
    memory_mb: int | None = None
    pids: int | None = None
    cpu_seconds: int | None = None
    disk_mb: int | None = None
    network: SkillNetwork = "none"
    preload: tuple[str, ...] = ()
    fresh_interpreter: bool = False
    runtime: RuntimeChoice = "auto"
    image: str | None = None
    effects: Effects | None = None
    spec: str | None = None
    context: str | None = None
    imports: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Skipped:
    """A folder that could not be loaded as a skill, and why."""

    name: str
    reason: str
