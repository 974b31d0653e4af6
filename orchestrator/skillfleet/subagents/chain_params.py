"""Whether the parameters of a run fit the schemas of the skills that it runs (pure)."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from pydantic import JsonValue

from skillfleet_workers.wire.contract import ToolError
from skillfleet_workers.wire.published import Entry
from skillfleet_workers.wire.schema_defaults import named_by, with_defaults

from .chain_inputs import params_for, references
from .models import ChainStep

CHECK_S = 2.0
"""Of the processor's time, for one step: other conversations may wait for it."""

MAX_VALUES = 100_000

_REFERRED = {"$schema", "$defs", "definitions"}
_OF_EACH_VALUE = {*_REFERRED, "type", "properties", "patternProperties", "additionalProperties"}
"""What a schema says of the values that there are, whatever else may come from other steps."""


def misfit(
    asked: Entry,
    skill: str,
    steps: Sequence[ChainStep],
    params: Mapping[str, JsonValue],
    used: Collection[str],
) -> ToolError | None:
    """`used`: parameters that inputs quote."""
    if not asked.script and asked.parameters:
        if wrong := _told(skill, asked.parameters, with_defaults(asked.parameters, params)):
            return wrong
    elif not asked.script:
        named = {*used, *(name for step in steps for name in named_by(step.parameters))}
        if unknown := sorted(params.keys() - named):
            return misfits_told(skill, [f"{name!r} is a parameter of none of its steps" for name in unknown])
    return next((wrong for step in steps if (wrong := _of_step(step, skill, steps, params))), None)


def redefaulted(own: dict[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """A step's schema, with the defaults of the skill that puts the steps together before its own."""
    changed = dict(_redefaulted(own, asked))
    return own | {"properties": {**own["properties"], **changed}} if changed else own


def _redefaulted(own: Mapping[str, Any], asked: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name in set(named_by(own)).intersection(named_by(asked)):
        over, about = asked["properties"][name], own["properties"][name]
        if isinstance(over, Mapping) and isinstance(about, Mapping) and "default" in over:
            yield name, {**about, "default": over["default"]}


def _of_step(
    step: ChainStep, skill: str, steps: Sequence[ChainStep], params: Mapping[str, JsonValue]
) -> ToolError | None:
    """What other steps bring, or inputs that quote them, is checked when the step begins."""
    if not step.parameters:
        return None
    fixed = {name: value for name, value in step.inputs.items() if not list(references(value))}
    values = params_for(step, skill, steps, params) | fixed
    values = {name: value for name, value in values.items() if name in fixed or name not in step.inputs}
    if not step.after:
        return _told(step.skill, step.parameters, with_defaults(step.parameters, values))
    partly = {name: rule for name, rule in step.parameters.items() if name in _OF_EACH_VALUE}
    return _told(step.skill, partly, values)


def _told(skill: str, schema: dict[str, Any], values: Mapping[str, JsonValue]) -> ToolError | None:
    found = _checker().misfits(schema, dict(values), MAX_VALUES, CHECK_S)
    return misfits_told(skill, [one.message for one in found]) if found else None


def misfits_told(skill: str, wrong: Sequence[str]) -> ToolError:
    return ToolError(
        error="parameters_do_not_fit",
        message=f"The parameters do not fit the skill {skill!r}: {'; '.join(wrong)}.",
        fix="Correct the parameters that are named there.",
    )


def _checker() -> ModuleType:
    # A tenth of a second of import, which every command would pay.
    from skillfleet_workers.wire import json_schemas  # noqa: PLC0415

    return json_schemas
