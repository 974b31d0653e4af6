"""What the JSON Schemas of a skill say of the arguments, the result and the configuration of its scripts (pure)."""

from collections.abc import Sequence
from typing import Any

from .skills.errors import ScriptRefusedError
from .skills.models import Skill
from .wire.execution import ScriptExecution
from .wire.json_schemas import Misfit, misfits, schema_trouble
from .wire.plain_json import strict
from .wire.schema_defaults import Schema, with_defaults
from .wire.shown import short

TOLD_ERRORS = 5
REASON_CHARS = 200
MOST_VALUES = 200_000
"""Of arguments, or of a result."""


class ArgumentsDoNotFitError(ScriptRefusedError):
    """The arguments do not fit what script '{script}' takes: {errors}"""

    fix = "Call it again with arguments that fit: correct the fields that are named there."


class ConfigDoesNotFitError(ScriptRefusedError):
    """The configuration of skill '{skill}' does not fit its config schema: {errors}"""

    fix = "Tell the user to correct these values in the skill's config.json, or in the override of this skill."


class UnusableSchemaError(ScriptRefusedError):
    """The {name} of skill '{skill}' cannot be used: {reason}"""

    fix = "Tell the user that the skill's author must correct the schema."


def fitting_arguments(skill: Skill, script: object, arguments: Schema | None) -> dict[str, Any]:
    """With the defaults of what is missing at the top.

    Raises:
        ArgumentsDoNotFitError, UnusableSchemaError
    """
    schema = skill.parameters_schema or {}
    filled = with_defaults(schema, arguments or {})
    if errors := _refused(skill, "parameters_schema", schema, filled):
        raise ArgumentsDoNotFitError(script=script, errors=errors)
    return filled


def fitting_config(skill: Skill, values: Schema) -> dict[str, Any]:
    """With the defaults of what is missing at the top.

    Raises:
        ConfigDoesNotFitError, UnusableSchemaError
    """
    schema = skill.config_schema or {}
    filled = with_defaults(schema, values)
    if found := _misfits(skill, "config schema", schema, filled):
        # Variables are filled in: models, and whoever reads what they are shown, learn no value.
        raise ConfigDoesNotFitError(
            skill=skill.name, errors=_told([misfit.rule or misfit.message for misfit in found])
        )
    return filled


def fitting_result(skill: Skill, run: ScriptExecution) -> ScriptExecution:
    """A run that succeeded, but whose output is not what `returns_schema` promises, has not kept the protocol."""
    if skill.returns_schema is None or not run.success:
        return run
    try:
        errors = _refused(skill, "returns_schema", skill.returns_schema, strict(run.stdout))
    except (ValueError, RecursionError) as wrong:
        errors = f"it is no JSON: {short(wrong, REASON_CHARS)}"
    except UnusableSchemaError as unusable:
        errors = str(unusable)
    if not errors:
        return run
    told = f"standard output does not fit the returns_schema of the skill: {errors}"
    return run.model_copy(update={"status": "protocol_violation", "error": told})


def _refused(skill: Skill, name: str, schema: Schema, value: Any) -> str:
    """What does not fit. Raises: UnusableSchemaError"""
    return _told([misfit.message for misfit in _misfits(skill, name, schema, value)])


def _misfits(skill: Skill, name: str, schema: Schema, value: Any) -> tuple[Misfit, ...]:
    """Raises: UnusableSchemaError"""
    if trouble := schema_trouble(dict(schema)):
        raise UnusableSchemaError(name=name, skill=skill.name, reason=trouble)
    return misfits(dict(schema), value, MOST_VALUES)


def _told(found: Sequence[str]) -> str:
    more = [f"and {len(found) - TOLD_ERRORS} more"] if len(found) > TOLD_ERRORS else []
    return "; ".join([*found[:TOLD_ERRORS], *more])
