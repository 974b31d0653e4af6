"""What a skill folder is to the rest of the worker: one model, whatever the format it was written in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..wire.contract import Effects
from .problems import Problem

NO_DESCRIPTION = "No description."
NO_VERSION = "0.0.0"

WITHHELD = ("LLM_", "SKILLFLEET_REDIS", "SKILLFLEET_ARTIFACTS", "FSSPEC_")
"""No skill is given a variable of the worker whose name starts like this, whatever it declares."""

InputMode = Literal["text", "json", "ndjson"]
SkillNetwork = Literal["none", "host"]
BuiltInRuntime = Literal["auto", "warm", "process", "container"]
Scope = Literal["project", "user", "system"]
"""Which root a skill was found under; the first shadows the others."""

Format = Literal["skill_md", "skill_json", "registry", "bare"]


@dataclass(frozen=True, slots=True)
class Requirements:
    """What a host must have (seed 004): all `bins`, one of `any_bins`, all variables of `env`, one of `os`, and every
    `config` key with a value in the skill's configuration."""

    bins: tuple[str, ...] = ()
    any_bins: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    os: tuple[str, ...] = ()
    config: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Skill:
    """`name` is the folder's name, whatever SKILL.md says; `root` is resolved.

    `documentation` is the file name of its SKILL.md as it is spelled there; `body_offset` the byte at which
    the text after the frontmatter starts. `timeout` is in seconds, `max_retries` how often a script of it that failed
    is run again. `env` names the variables that its scripts may see, `allowed_tools` what SKILL.md allows (None: it
    does not say). `protocol` maps a script's name to how it is fed. `effects`: whether its scripts may be run twice.
    `spec` and `context` are paths of JSON files in it, for code that may also import `imports`. What no
    key of `metadata.skillfleet` says is None, or the default shown.

    Seed 004: `model`, `fork` (`context: fork`), `agent`, `argument_hint`, `disable_model_invocation`,
    `user_invocable`, `pre_hook` and `post_hook` (commands), `emoji`, `primary_env`, `requires`, `always`. Seed 002:
    `parameters_schema` and `returns_schema` (of the script `entry`, else of the only one), `dependencies` (`name`, or
    `name@version`), `tags`; `inputs` (values that it gives to parameters of these, by skill) and `topic` (under which
    its end is published), where it runs without a model.
    Seed 003: `display_name`, `author`, `homepage`, `priority`, `capabilities`, `prompt` (the file of its behavioural
    prompt), `config_schema`, and `config` (the user's values, as its config.json has them, before variables are
    filled in). `queue`: the workers that it asks for; `runtime`: a BuiltInRuntime, or one
    that others have registered. `problems` are warnings: the skill works.
    """

    name: str
    root: Path
    description: str = NO_DESCRIPTION
    documentation: str | None = None
    body_offset: int = 0
    version: str = NO_VERSION
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
    runtime: str = "auto"
    image: str | None = None
    effects: Effects | None = None
    spec: str | None = None
    context: str | None = None
    imports: tuple[str, ...] = ()
    license: str = ""
    compatibility: str = ""
    model: str = ""
    fork: bool = False
    agent: str = ""
    argument_hint: str = ""
    disable_model_invocation: bool = False
    user_invocable: bool = True
    pre_hook: str = ""
    post_hook: str = ""
    emoji: str = ""
    primary_env: str = ""
    requires: Requirements = Requirements()
    always: bool = False
    parameters_schema: Mapping[str, Any] | None = field(default=None, hash=False)
    returns_schema: Mapping[str, Any] | None = field(default=None, hash=False)
    entry: str | None = None
    dependencies: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    inputs: Mapping[str, Mapping[str, Any]] | None = field(default=None, hash=False)
    topic: str = ""
    queue: str = ""
    display_name: str = ""
    author: str = ""
    homepage: str = ""
    priority: int = 50
    capabilities: tuple[str, ...] = ()
    prompt: str | None = None
    config_schema: Mapping[str, Any] | None = field(default=None, hash=False)
    config: Mapping[str, Any] | None = field(default=None, hash=False)
    formats: tuple[Format, ...] = ()
    scope: Scope = "project"
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Skipped:
    """A folder that could not be loaded as a skill, and why."""

    name: str
    root: Path
    problems: tuple[Problem, ...]

    @property
    def reason(self) -> str:
        told = [p for p in self.problems if p.severity == "error"] or self.problems
        return "; ".join(f"{p.file}: {p.message}" if p.file.strip(".") else p.message for p in told)
