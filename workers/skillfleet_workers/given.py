"""What the runs of a skill are given: their environment, their configuration, their limits."""

import json
import os
from collections.abc import Iterable
from pathlib import Path

from . import __version__
from .runtimes.base import Limits
from .schemas import fitting_config
from .script_calls import CLEAN_PATH
from .skills.config_values import values_of
from .skills.models import WITHHELD, Skill
from .skills.override_file import Override
from .wire.contract import CallRef

SKILLKIT_VERSION = "0.3.0"
"""The contract of seed 001 that scripts can count on."""

CONFIG = "SKILLFLEET_CONFIG"
"""The variable that names the file with the skill's configuration."""


NO_OVERRIDE = Override()


def script_path(programs: Iterable[Path]) -> str:
    """Where scripts find programs: those of the system, then those of the worker."""
    return ":".join([CLEAN_PATH, *map(str, programs)])


def script_environment(
    skill: Skill,
    interpreter: Path,
    ref: CallRef,
    override: Override = NO_OVERRIDE,
    programs: Iterable[Path] = (),
) -> dict[str, str]:
    """A clean base, seed 001's names, what the skill declares and what the override adds; nothing else of the
    worker's."""
    folder, path = str(interpreter.parent), script_path(programs)
    granted = {name: os.environ[name] for name in skill.env if name in os.environ}
    granted |= override.env
    return {name: value for name, value in granted.items() if not name.startswith(WITHHELD)} | {
        "PATH": path if folder in path.split(":") else f"{folder}:{path}",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(skill.root),
        "PYTHONDONTWRITEBYTECODE": "1",
        "SKILL_NAME": skill.name,
        "SKILL_BASE_DIR": str(skill.root),
        "SKILL_VERSION": skill.version,
        "SKILLKIT_VERSION": SKILLKIT_VERSION,
        "SKILLFLEET_VERSION": __version__,
        "SKILLFLEET_CALL_ID": ref.call_id,
    }


def files_of(skill: Skill, override: Override) -> dict[str, bytes]:
    """The configuration of the skill, where it has one.

    Raises:
        ConfigDoesNotFitError, UnusableSchemaError
    """
    if skill.config is None and skill.config_schema is None and not override.config:
        return {}
    config = fitting_config(skill, values_of(skill.config, {**os.environ, **override.env}, override.config))
    return {CONFIG: json.dumps(config, ensure_ascii=False).encode("utf-8", "replace")}


def limits_of(skill: Skill, cpus: float | None) -> Limits:
    names = ("memory_mb", "pids", "disk_mb", "cpu_seconds")
    return Limits(**{name: value for name in names if (value := getattr(skill, name)) is not None}, cpus=cpus)
