"""JSON by the letter (pure): Python reads NaN, Infinity and 1e999 too, which nobody else could read again."""

import json
import math
from typing import Any, NoReturn

from skillfleet_workers.wire.shown import short


def parsed(text: str) -> Any:
    """Raises: ValueError, RecursionError"""
    data = json.loads(text, parse_constant=_no_number, parse_float=_finite)
    json.dumps(data, ensure_ascii=False).encode()  # half a surrogate pair passes as JSON, but is no text
    return data


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{short(digits)} is too large a number")
    return number
