"""JSON by the letter (pure). Python takes NaN, Infinity and 1e999 as well, halves of surrogate pairs, and any depth:
what is kept so, nobody could read again."""

import json
import math
from collections.abc import Iterable
from typing import Any, NoReturn

from skillfleet_workers.wire.shown import short

MAX_NESTING = 100
"""What is read again may be nested about 200 deep, with all that is put around it."""


def parsed(text: str) -> Any:
    """
    Raises:
        ValueError, RecursionError: it is none.
    """
    data = json.loads(text, parse_constant=_no_number, parse_float=_finite)
    written(data)
    return data


def written(data: object) -> bytes:
    """
    Raises:
        ValueError: JSON cannot carry it; the message is what it does.
    """
    try:
        text = json.dumps(data, ensure_ascii=False, allow_nan=False).encode()
    except TypeError as wrong:
        raise ValueError(f"holds what JSON cannot carry: {wrong}") from None
    except UnicodeEncodeError:
        raise ValueError("holds half a surrogate pair, which JSON cannot carry; send text") from None
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except ValueError:
        raise ValueError("holds NaN or Infinity, which JSON cannot carry; send null, or a text") from None
    if _is_deep(data):
        raise ValueError(_TOO_DEEP)
    return text


_TOO_DEEP = f"is nested too deep, more than {MAX_NESTING} levels"


def _is_deep(data: object) -> bool:
    level = [data]
    for _ in range(MAX_NESTING):
        level = [part for one in level for part in _parts(one) if isinstance(part, dict | list | tuple)]
        if not level:
            return False
    return True


def _parts(data: object) -> Iterable[object]:
    match data:
        case dict():
            return data.values()
        case list() | tuple():
            return data
    return ()


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{short(digits)} is too large a number")
    return number
