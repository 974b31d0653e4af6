"""JSON by the letter (pure). Python takes NaN, Infinity and 1e999 as well, halves of surrogate pairs, and any depth:
what is kept so, nobody could read again."""

import json
import math
from typing import Any, NoReturn

from .shown import short

MOST_DEPTH = 100
"""Of objects and lists in one another, in what models and scripts write: what is read again may be nested about 200
deep, with all that is put around it."""

_TOO_DEEP = f"is nested too deep, more than {MOST_DEPTH} levels"


def strict(text: str, *, keys_once: bool = False) -> Any:
    """Of any depth that can be read at all. `keys_once`: a key that occurs twice in one object is an error, since it
    would not be known which is meant.

    Raises:
        ValueError, RecursionError: it is none.
    """
    pairs = _each_once if keys_once else None
    data = json.loads(text, parse_constant=_no_number, parse_float=_finite, object_pairs_hook=pairs)
    json.dumps(data, ensure_ascii=False).encode()
    return data


def parsed(text: str, *, keys_once: bool = False) -> Any:
    """`keys_once`: as `strict` has it.

    Raises:
        ValueError, RecursionError: it is none.
    """
    data = strict(text, keys_once=keys_once)
    if deeper(data):
        raise ValueError(_TOO_DEEP)
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
    if deeper(data):
        raise ValueError(_TOO_DEEP)
    return text


def deeper(value: object, most: int = MOST_DEPTH) -> bool:
    """Whether more objects and lists than that are in one another."""
    level: list[Any] = [value]
    for _ in range(most + 1):
        level = [one for one in level if isinstance(one, dict | list | tuple)]
        if not level:
            return False
        level = [part for one in level for part in (one.values() if isinstance(one, dict) else one)]
    return True


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} occurs twice in one object")
        found[key] = value
    return found


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{short(digits)} is too large a number")
    return number
