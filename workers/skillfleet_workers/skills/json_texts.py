"""JSON of strangers: whatever it is, it is a value or an error with its line (pure)."""

import json
from typing import Any, NoReturn

import yaml

from .yaml_trees import YamlTree, yaml_tree


class JsonError(Exception):
    """It is no JSON; the message says why."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def json_value(text: str | bytes) -> Any:
    """Raises: JsonError"""
    try:
        return json.loads(text if isinstance(text, str) else text.decode("utf-8-sig"), parse_constant=_refused)
    except json.JSONDecodeError as wrong:
        raise JsonError(wrong.msg, wrong.lineno) from None
    except RecursionError:
        raise JsonError("it is nested too deep") from None
    except ValueError as wrong:  # bytes that are no UTF-8, endless numbers, NaN
        raise JsonError(str(wrong)[:200]) from None


def json_lines(text: bytes) -> YamlTree:
    """For the lines of its keys: nearly all JSON is YAML. What is not has none."""
    try:
        return yaml_tree(text.decode("utf-8-sig", "replace"))
    except yaml.YAMLError:
        return YamlTree()


def _refused(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")
