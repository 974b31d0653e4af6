"""What is wrong with a setting, in one line of our own words (pure)."""

from typing import get_args

from annotated_types import Ge, Gt, Le
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from .shown import short

EMPTY = "is empty; give it a value, or leave it out"


def complaint(kind: type[BaseModel], error: ErrorDetails) -> str:
    """`VARIABLE: problem`. What a model's own validator says names its variable itself."""
    problem = error["msg"].removeprefix("Value error, ")
    if not error["loc"]:
        return problem
    said = error["loc"][0]
    for name, field in kind.model_fields.items():
        if said in (name, field.validation_alias):
            own_words = error["type"] == "value_error"
            return f"{field.validation_alias or name}: {problem if own_words else _in_words(field, error)}"
    return f"{said}: {problem}"


def _in_words(field: FieldInfo, error: ErrorDetails) -> str:
    value, expected = error["input"], _expected(field, error)
    if not str(value).strip():
        return EMPTY
    # Not even a secret that is malformed is shown.
    secret = field.annotation is SecretStr or SecretStr in get_args(field.annotation)
    return f"is not {expected}" if secret else f"{short(value)!r} is not {expected}"


def _expected(field: FieldInfo, error: ErrorDetails) -> str:
    if error["type"] == "string_unicode":
        return "UTF-8 text"
    if field.description:
        return field.description
    if field.annotation is int:
        return _range(field)
    if error["type"] == "literal_error":
        return f"one of {', '.join(get_args(field.annotation))}"
    return "a folder" if error["type"].startswith("path") else "text"


def _range(field: FieldInfo) -> str:
    least = most = ""
    for bound in field.metadata:
        match bound:
            case Ge(ge=int(limit)):
                least = str(limit)
            case Gt(gt=int(limit)):
                least = str(limit + 1)
            case Le(le=int(limit)):
                most = str(limit)
    if least and most:
        return f"a whole number from {least} to {most}"
    return f"a whole number of at least {least}" if least else "a whole number"
