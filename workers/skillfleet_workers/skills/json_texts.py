"""JSON of strangers: whatever it is, it is a value or an error with its line (pure)."""

import json
from collections.abc import Iterable
from typing import Any, NoReturn

import yaml

from ..wire.shown import is_text
from .yaml_trees import MAX_DEPTH, YamlTree, yaml_tree


class JsonError(Exception):
    """It is no JSON; the message says why."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def json_value(text: str | bytes) -> Any:
    """Raises: JsonError"""
    try:
        value = json.loads(text if isinstance(text, str) else text.decode("utf-8-sig"), parse_constant=_refused)
    except json.JSONDecodeError as wrong:
        raise JsonError(wrong.msg, wrong.lineno) from None
    except RecursionError:
        raise JsonError("it is nested too deep") from None
    except ValueError as wrong:  # bytes that are no UTF-8, endless numbers, NaN
        raise JsonError(str(wrong)[:200]) from None
    if trouble := _trouble(value):
        raise JsonError(trouble)
    return value


def json_lines(text: bytes) -> YamlTree:
    """For the lines of its keys: nearly all JSON is YAML. What is not has none."""
    try:
        return yaml_tree(text.decode("utf-8-sig", "replace"))
    except yaml.YAMLError:
        return YamlTree()


def _trouble(value: Any) -> str | None:
    """Why others could not take it, though it could be read."""
    level, depth = [value], 0
    while level:
        if not all(is_text(text) for item in level for text in _texts(item)):
            return "it holds half of a character"
        level = [part for item in level for part in _parts(item)]
        depth += 1
        if depth > MAX_DEPTH:
            return f"it is nested more than {MAX_DEPTH} deep"
    return None


def _texts(value: Any) -> Iterable[str]:
    return (value,) if isinstance(value, str) else value if isinstance(value, dict) else ()


def _parts(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _refused(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")
