"""What the JSON Schemas of a skill say of the arguments, the result and the configuration of its scripts (pure).

References lead nowhere but into the schema itself: nothing is ever fetched. `format` is no check.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Any

from jsonschema import SchemaError
from jsonschema.exceptions import ValidationError
from jsonschema.validators import Draft202012Validator, validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from .runtimes.ndjson import strict_json
from .skills.errors import ScriptRefusedError
from .skills.models import Skill
from .wire.execution import ScriptExecution
from .wire.shown import short

TOLD_ERRORS = 5
MOST_ERRORS = 100
ERROR_CHARS = 200

Schema = Mapping[str, Any]


class ArgumentsDoNotFitError(ScriptRefusedError):
    """The arguments do not fit what script '{script}' takes: {errors}"""

    fix = "Call it again with arguments that fit: correct the fields that are named there."


class ConfigDoesNotFitError(ScriptRefusedError):
    """The configuration of skill '{skill}' does not fit its config schema: {errors}"""

    fix = "Tell the user to correct these values in the skill's config.json, or in the override of this skill."


class UnusableSchemaError(ScriptRefusedError):
    """The {name} of skill '{skill}' cannot be used: {reason}"""

    fix = "Tell the user that the skill's author must correct the schema."


class _UnusableError(Exception):
    """The schema is none; the message says why."""


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
    if errors := _refused(skill, "config schema", schema, filled):
        raise ConfigDoesNotFitError(skill=skill.name, errors=errors)
    return filled


def fitting_result(skill: Skill, run: ScriptExecution) -> ScriptExecution:
    """A run that succeeded, but whose output is not what `returns_schema` promises, has not kept the protocol."""
    if skill.returns_schema is None or not run.success:
        return run
    try:
        errors = _errors(skill.returns_schema, strict_json(run.stdout))
    except (ValueError, RecursionError) as wrong:
        errors = f"it is no JSON: {short(wrong, ERROR_CHARS)}"
    except _UnusableError as unusable:
        errors = f"the schema itself cannot be used: {unusable}"
    if not errors:
        return run
    told = f"standard output does not fit the returns_schema of the skill: {errors}"
    return run.model_copy(update={"status": "protocol_violation", "error": told})


def with_defaults(schema: Schema, values: Schema) -> dict[str, Any]:
    properties = schema.get("properties")
    known = properties.items() if isinstance(properties, Mapping) else ()
    defaults = {name: about["default"] for name, about in known if isinstance(about, Mapping) and "default" in about}
    return {**defaults, **values}


def _refused(skill: Skill, name: str, schema: Schema, value: Any) -> str:
    try:
        return _errors(schema, value)
    except _UnusableError as unusable:
        raise UnusableSchemaError(name=name, skill=skill.name, reason=unusable) from unusable


def _errors(schema: Schema, value: Any) -> str:
    """The first ones, each with the path of what it is about; empty: it fits. Raises: _UnusableError."""
    if not isinstance(schema.get("$schema", ""), str):
        raise _UnusableError("$schema is no text")
    try:
        kind = validator_for(schema, default=Draft202012Validator)
        kind.check_schema(dict(schema))
        validator = kind(dict(schema), registry=Registry())
        found = list(islice(validator.iter_errors(value), MOST_ERRORS))
    except (SchemaError, Unresolvable) as wrong:
        raise _UnusableError(short(str(wrong).partition("\n")[0], ERROR_CHARS)) from wrong
    except RecursionError as wrong:
        raise _UnusableError("it refers to itself without end") from wrong
    except (ArithmeticError, ValueError) as wrong:  # multipleOf of a number too large for it, $schema that is no URL
        raise _UnusableError(f"it cannot be checked: {wrong}") from wrong
    told = [_told(error) for error in found[:TOLD_ERRORS]]
    more = [f"and {len(found) - TOLD_ERRORS} more"] if len(found) > TOLD_ERRORS else []
    return "; ".join([*told, *more])


def _told(error: ValidationError) -> str:
    path = error.json_path.removeprefix("$").removeprefix(".")
    message = short(error.message, ERROR_CHARS)
    return f"{path}: {message}" if path else message
