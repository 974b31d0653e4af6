"""What the runs of a skill are given: their environment, their configuration, their limits."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import __version__
from .runtimes.base import Limits
from .schemas import fitting_config
from .script_calls import CLEAN_PATH
from .skills.models import WITHHELD, Skill
from .wire.contract import CallRef

SKILLKIT_VERSION = "0.3.0"
"""The contract of seed 001 that scripts can count on."""

CONFIG = "SKILLFLEET_CONFIG"
"""The variable that names the file with the skill's configuration."""

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class Override:
    """What the operator of the worker says of a skill: variables that its scripts are given besides what it declares,
    and values that stand above its own configuration."""

    enabled: bool = True
    env: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)


NO_OVERRIDE = Override()


def script_environment(
    skill: Skill, interpreter: Path, ref: CallRef, override: Override = NO_OVERRIDE
) -> dict[str, str]:
    """A clean base, seed 001's names, what the skill declares and what the override adds; nothing else of the
    worker's."""
    folder = str(interpreter.parent)
    granted = {name: os.environ[name] for name in skill.env if name in os.environ}
    granted |= override.env
    return {name: value for name, value in granted.items() if not name.startswith(WITHHELD)} | {
        "PATH": CLEAN_PATH if folder in CLEAN_PATH.split(":") else f"{folder}:{CLEAN_PATH}",
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
    variables = {name: value for name, value in os.environ.items() if not name.startswith(WITHHELD)}
    own = filled(skill.config or {}, {**variables, **override.env})
    config = fitting_config(skill, {**own, **override.config})
    return {CONFIG: json.dumps(config, ensure_ascii=False).encode("utf-8", "replace")}


def filled(value: Any, variables: Mapping[str, str]) -> Any:
    """With `${NAME}` replaced in every text; what is not set is empty."""
    match value:
        case str():
            return _VARIABLE.sub(lambda found: variables.get(found[1], ""), value)
        case Mapping():
            return {key: filled(inner, variables) for key, inner in value.items()}
        case list() | tuple():
            return [filled(inner, variables) for inner in value]
    return value


def limits_of(skill: Skill, cpus: float | None) -> Limits:
    names = ("memory_mb", "pids", "disk_mb", "cpu_seconds")
    return Limits(**{name: value for name in names if (value := getattr(skill, name)) is not None}, cpus=cpus)
