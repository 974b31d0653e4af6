"""A YAML or JSON file that somebody wrote by hand, as plain JSON values."""

import math
from pathlib import Path

import yaml
from pydantic import JsonValue

MAX_DEPTH = 50


def read_written(path: Path, of: str = "replies") -> JsonValue:
    """`of`: what is written there. Raises ValueError: one line: the file, the place in it, what is wrong."""
    try:
        return _plain(yaml.safe_load(path.read_text(encoding="utf-8")), "")
    except OSError as wrong:
        raise ValueError(f"{path}: can't be read ({wrong.strerror}); name a YAML file of {of}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path}: is not UTF-8 text; name a YAML file of {of}") from None
    except yaml.YAMLError as wrong:
        raise ValueError(f"{path}{_place_of(wrong)}; fix the YAML") from None
    except RecursionError:
        raise ValueError(f"{path}: is nested deeper than a script needs") from None
    except (LookupError, AttributeError):  # what PyYAML leaves of `!!bool soon` and its like
        raise ValueError(f"{path}: a value does not fit its !! tag; fix the YAML") from None
    except ValueError as wrong:
        raise ValueError(f"{path}: {wrong}") from None


def _plain(value: object, place: str) -> JsonValue:
    """YAML knows dates, sets, bytes and keys that are no text, and a list that holds itself: JSON does not."""
    if isinstance(value, str):
        return _whole(value, place)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{place or 'the file'}: {value} is no JSON number")
    if value is None or isinstance(value, bool | int | float):
        return value
    if place.count("[") + place.count(".") > MAX_DEPTH:
        raise ValueError(f"{place[:60]}...: is nested deeper than a script needs")
    if isinstance(value, list):
        return [_plain(each, f"{place}[{index}]") for index, each in enumerate(value)]
    if isinstance(value, dict):
        return {_key(name, place): _plain(each, f"{place}.{name}".lstrip(".")) for name, each in value.items()}
    kind = "bytes" if isinstance(value, bytes) else f"a {type(value).__name__}"
    raise ValueError(f"{place or 'the file'}: {kind} is no JSON value; if it is a text, put it in quotes")


def _key(name: object, place: str) -> str:
    if isinstance(name, str):
        return _whole(name, place)
    raise ValueError(f"{place or 'the file'}: the key {name} is no text; put it in quotes")


def _whole(text: str, place: str) -> str:
    r"""JSON may spell a character beyond U+FFFF as two halves, \ud83d\ude00; YAML reads each for itself."""
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise ValueError(f"{place or 'the file'}: half a character (a lone surrogate) is no text") from None


def _place_of(wrong: yaml.YAMLError) -> str:
    if not isinstance(wrong, yaml.MarkedYAMLError) or wrong.problem_mark is None:
        return f": is not YAML ({' '.join(str(wrong).split())})"
    return f", line {wrong.problem_mark.line + 1}, column {wrong.problem_mark.column + 1}: {wrong.problem}"
