"""Regular expressions of strangers, as JSON Schemas have them: understood and searched for within bounds."""

import re
from functools import lru_cache

import regex

MAX_PATTERN = 1_000
"""Characters."""

MAX_WRITTEN_OUT = 20_000
"""Pieces: the library writes out what must be there a number of times."""

MATCH_S = 0.5
"""For one search."""

_REPEAT = re.compile(r"(?s)(?P<before>.)\{(?P<least>[0-9]+)(?:,[0-9]*)?\}")
_RECURSION = re.compile(r"(?<!\\)(?:\\\\)*\(\?(?:R|[+-]?[0-9]|&|P>)")
"""No JSON Schema knows it, and it takes all the memory that there is."""


class PatternError(ValueError):
    """It is no regular expression, or one beyond the bounds."""


class SlowPatternError(Exception):
    """MATCH_S."""


@lru_cache(maxsize=128)
def compiled(pattern: str) -> "regex.Pattern[str]":
    """Raises: PatternError"""
    if len(pattern) > MAX_PATTERN or _written_out(pattern) > MAX_WRITTEN_OUT:
        raise PatternError("the pattern is too long, or repeats too much")
    if _RECURSION.search(pattern):
        raise PatternError("the pattern calls itself")
    try:
        return regex.compile(pattern)
    except (regex.error, ValueError, OverflowError, RecursionError) as wrong:
        raise PatternError(f"the pattern cannot be read: {wrong}") from None


def is_pattern(value: object) -> bool:
    """Raises: PatternError"""
    return not isinstance(value, str) or bool(compiled(value))


def found(pattern: str, text: str) -> bool:
    """Raises: PatternError, SlowPatternError"""
    try:
        return compiled(pattern).search(text, concurrent=True, timeout=MATCH_S) is not None
    except TimeoutError:
        raise SlowPatternError(pattern) from None


def _written_out(pattern: str) -> int:
    """At most so many pieces: as if whatever may be a group held all the others."""
    pieces, times = len(pattern), 1
    for repeat in _REPEAT.finditer(pattern):
        least = int(repeat["least"])
        if re.match(r"[\w\].]", repeat["before"]):
            pieces += least
        else:
            times *= max(1, least)
    return pieces * times
