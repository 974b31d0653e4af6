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
    """The configuration of the skill, where it has one. A value whose variable is not set counts as missing.

    Raises:
        ConfigDoesNotFitError, UnusableSchemaError
    """
    if skill.config is None and skill.config_schema is None and not override.config:
        return {}
    own = filled(skill.config or {}, {**os.environ, **override.env})
    known = {name: value for name, value in own.items() if value is not None}
    config = fitting_config(skill, {**known, **override.config})
    return {CONFIG: json.dumps(config, ensure_ascii=False).encode("utf-8", "replace")}


def filled(value: Any, variables: Mapping[str, str]) -> Any:
    """With `${NAME}` in its texts filled in. A text that is a variable and no more is null where there is none;
    within a longer text it leaves nothing. Those that no skill is given are not there."""
    match value:
        case str():
            if whole := _VARIABLE.fullmatch(value):
                return _variable(whole[1], variables)
            return _VARIABLE.sub(lambda found: _variable(found[1], variables) or "", value)
        case Mapping():
            return {key: filled(inner, variables) for key, inner in value.items()}
        case list() | tuple():
            return [filled(inner, variables) for inner in value]
    return value


def _variable(name: str, variables: Mapping[str, str]) -> str | None:
    return None if name.startswith(WITHHELD) else variables.get(name)


def limits_of(skill: Skill, cpus: float | None) -> Limits:
    names = ("memory_mb", "pids", "disk_mb", "cpu_seconds")
    return Limits(**{name: value for name in names if (value := getattr(skill, name)) is not None}, cpus=cpus)
