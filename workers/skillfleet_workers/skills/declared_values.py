"""The values that frontmatter declares: each checked, and where it is wrong left out with a warning (pure)."""

import re
from collections.abc import Callable, Mapping
from typing import Any, get_args

from ..wire.contract import MAX_TIMEOUT_SECONDS, Effects
from ..wire.shown import short
from .models import WITHHELD, InputMode, RuntimeChoice, SkillNetwork

SECONDS_A_DAY = 86_400
TERABYTE_MB = 1_048_576

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,254}")
_TOOL = re.compile(r"[A-Za-z_][\w-]*(?:\([^()]*\))?")

_NUMBERS = {
    "timeout": (1, MAX_TIMEOUT_SECONDS, "whole seconds"),
    "max_retries": (0, 5, "new attempts"),
    "memory_mb": (16, TERABYTE_MB, "MB"),
    "pids": (1, 32_768, "processes"),
    "cpu_seconds": (1, SECONDS_A_DAY, "whole seconds"),
    "disk_mb": (1, TERABYTE_MB, "MB"),
}
_TOP_LEVEL = ("timeout", "max_retries")
"""Read beside metadata.skillfleet too."""

_CHOICES: dict[str, tuple[str, ...]] = {
    "network": get_args(SkillNetwork),
    "runtime": get_args(RuntimeChoice),
    "effects": get_args(Effects),
    "fresh_interpreter": ("true", "false"),
}


def declared(fields: Mapping[str, Any], own: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """The fields of a Skill that its frontmatter sets; `own` are the keys under metadata.skillfleet."""
    found: dict[str, Any] = {
        name: number(value, name, problems)
        for name in _NUMBERS
        if (value := own.get(name, fields.get(name) if name in _TOP_LEVEL else None)) is not None
    }
    found |= {name: _choice(own[name], name, problems) for name in _CHOICES if own.get(name) is not None}
    if (fresh := found.get("fresh_interpreter")) is not None:
        found["fresh_interpreter"] = fresh == "true"
    found |= {
        "requirements": words(own.get("requirements"), "requirements", problems),
        "env": _kept(words(own.get("env"), "env", problems), "env", _wrong_variable, problems),
        "preload": _kept(words(own.get("preload"), "preload", problems), "preload", _wrong_module, problems),
        "imports": _kept(words(own.get("imports"), "imports", problems), "imports", _wrong_module, problems),
        "spec": _file(own.get("spec"), "spec", problems),
        "context": _file(own.get("context"), "context", problems),
        "image": _image(own.get("image"), problems),
        "allowed_tools": _tools(fields.get("allowed-tools"), problems),
        "protocol": _protocol(own.get("protocol"), problems),
    }
    return {name: value for name, value in found.items() if value is not None}


def number(value: object, key: str, problems: list[str]) -> int | None:
    least, most, unit = _NUMBERS[key]
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value) and least <= int(value) <= most:
        return int(value)
    problems.append(f"{key}: {shown(value)} is not {least}-{most} {unit}; ignored")
    return None


def words(value: object, key: str, problems: list[str]) -> tuple[str, ...]:
    """A list, or a string of lines, or of words."""
    if value is None:
        return ()
    if isinstance(value, str):
        stripped = value.strip()
        value = stripped.splitlines() if "\n" in stripped else stripped.split()
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return tuple(word.strip() for word in value if word.strip())
    problems.append(f"{key} is neither a list nor a text; ignored")
    return ()


def shown(value: object) -> str:
    # YAML aliases make small values whose repr is endless.
    return repr(short(value)) if isinstance(value, str) else "no text"


def _choice(value: object, key: str, problems: list[str]) -> str | None:
    chosen = value.lower() if isinstance(value, str) else value
    if chosen in _CHOICES[key]:
        return str(chosen)
    problems.append(f"{key}: {shown(value)} is none of {', '.join(_CHOICES[key])}; ignored")
    return None


def _kept(names: tuple[str, ...], key: str, wrong: Callable[[str], str], problems: list[str]) -> tuple[str, ...]:
    problems += [f"{key}: {shown(name)} is {why}; ignored" for name in names if (why := wrong(name))]
    return tuple(name for name in names if not wrong(name))


def _wrong_variable(name: str) -> str:
    if not _VARIABLE.fullmatch(name):
        return "no name of a variable"
    return "never given to a skill" if name.startswith(WITHHELD) else ""


def _wrong_module(name: str) -> str:
    return "" if _MODULE.fullmatch(name) else "no name of a module"


def _image(value: object, problems: list[str]) -> str | None:
    if value is None or (isinstance(value, str) and _IMAGE.fullmatch(value)):
        return value
    problems.append(f"image: {shown(value)} is no name of an image; ignored")
    return None


def _file(value: object, key: str, problems: list[str]) -> str | None:
    """Where it lies is checked when it is read."""
    if value is None or (isinstance(value, str) and value):
        return value
    problems.append(f"{key} is no path of a file; ignored")
    return None


def _tools(value: object, problems: list[str]) -> tuple[str, ...] | None:
    """`Bash(git:*) Read`, or a list of such; what is in parentheses may hold spaces."""
    if value is None or value == "":
        return None
    parts = [value] if isinstance(value, str) else value
    if isinstance(parts, list) and all(isinstance(part, str) for part in parts):
        return tuple(tool for part in parts for tool in _TOOL.findall(part))
    problems.append("allowed-tools is neither a list nor a text: it allows nothing")
    return ()


def _protocol(value: object, problems: list[str]) -> dict[str, InputMode] | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        problems.append("protocol is no map of script names to text, json or ndjson; ignored")
        return None
    found: dict[str, InputMode] = {}
    for name, mode in value.items():
        match mode:
            case "text" | "json" | "ndjson":
                found[str(name)] = mode
            case _:
                problems.append(f"protocol: {shown(mode)} is none of {', '.join(get_args(InputMode))}; ignored")
    return found
