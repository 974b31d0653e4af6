"""The user's values for a skill (seed 003): config.json, which fits config-schema.json (pure)."""

import re
from collections.abc import Mapping
from typing import Any

from ..wire.json_schemas import misfits, schema_trouble
from .json_texts import JsonError, json_lines, json_value
from .models import WITHHELD
from .problems import Problem, problem
from .sources import Source

CONFIG = "config.json"
CONFIG_SCHEMA = "config-schema.json"

CONFIG_INVALID = "config-invalid"
"""The code of a Problem with which a skill works, but not as it should."""
BUDGET_S = 1.0
"""For the check of one, as all skills wait for it."""

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def read_config_schema(data: bytes) -> tuple[dict[str, Any] | None, tuple[Problem, ...]]:
    """None where it is no JSON Schema."""
    source = _read(CONFIG_SCHEMA, data, "schema-invalid")
    if not source.problems and (trouble := schema_trouble(source.fields)):
        source.wrong("schema-invalid", f"it is no JSON Schema: {trouble}")
    return None if source.problems else dict(source.fields), tuple(source.problems)


def read_config(data: bytes, schema: Mapping[str, Any] | None) -> tuple[dict[str, Any] | None, tuple[Problem, ...]]:
    """The values as they are, each that does not fit with a Problem; None where they cannot be read."""
    source = _read(CONFIG, data, CONFIG_INVALID)
    if source.problems:
        return None, tuple(source.problems)
    config = dict(source.fields)
    return config, config_problems(config, schema or {}, source)


def config_problems(
    config: Mapping[str, Any], schema: Mapping[str, Any], source: Source | None = None
) -> tuple[Problem, ...]:
    """One for each value that does not fit. Of one that a variable fills in nobody knows yet. `source`: where the
    values stand, for their lines."""
    source = source or Source(CONFIG, config)
    for misfit in misfits(dict(schema), dict(config), budget_s=BUDGET_S):
        if not _to_be_filled(config, misfit.path):
            source.wrong(CONFIG_INVALID, misfit.message, misfit.path)
    return tuple(source.problems)


def filled(config: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """With `${NAME}` in its texts filled in. A text that is a variable and no more is null where there is none;
    within a longer text it leaves nothing. Those that no skill is given are not there."""
    return {name: _filled(value, environ) for name, value in config.items()}


def values_of(
    own: Mapping[str, Any] | None, environ: Mapping[str, str], overriding: Mapping[str, Any]
) -> dict[str, Any]:
    """`overriding` as they are, over the skill's own, filled in; one whose variable is not set counts as missing."""
    known = {name: value for name, value in filled(own or {}, environ).items() if value is not None}
    return {**known, **overriding}


def _filled(value: Any, environ: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: _filled(item, environ) for name, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, environ) for item in value]
    if not isinstance(value, str):
        return value
    if whole := _VARIABLE.fullmatch(value):
        return _variable(whole[1], environ)
    return _VARIABLE.sub(lambda match: _variable(match[1], environ) or "", value)


def _variable(name: str, environ: Mapping[str, str]) -> str | None:
    return None if name.startswith(WITHHELD) else environ.get(name)


def _to_be_filled(config: Any, path: tuple[str, ...]) -> bool:
    for name in path:
        config = config[int(name)] if isinstance(config, list) else config[name]
    return bool(path) and isinstance(config, str) and bool(_VARIABLE.search(config))


def _read(file: str, data: bytes, code: str) -> Source:
    try:
        value = json_value(data)
    except JsonError as wrong:
        return Source(file, {}, problems=[problem(code, f"it is no JSON: {wrong}", file, wrong.line)])
    if not isinstance(value, dict):
        return Source(file, {}, problems=[problem(code, "it is no JSON object", file, 1)])
    return Source(file, value, json_lines(data))
