"""What people are told of a build while it goes on: the lines of its log, no more than can be read."""

import time
from collections.abc import Callable
from typing import IO

from ..wire.shown import short

Tell = Callable[[str], None]

LINES_A_SECOND = 10
MOST_LINES = 200
LINE_CHARS = 200
LOOK_S = 0.1
READ_BYTES = 65_536


def silent(_: str) -> None:
    """Tells nobody."""


class Allowance:
    """So many at once, as many more each second, and an end of it."""

    def __init__(self, now: float, *, a_second: int = LINES_A_SECOND, most: int = MOST_LINES) -> None:
        self._at, self._a_second, self._left = now, a_second, most
        self._saved = float(a_second)

    def grants(self, now: float) -> bool:
        self._saved = min(self._a_second, self._saved + (now - self._at) * self._a_second)
        self._at = now
        if self._left == 0 or self._saved < 1:
            return False
        self._saved -= 1
        self._left -= 1
        return True


class GrowingLog:
    """Reads a log as it grows. `hidden`: what is left out of its lines: the machine's own paths."""

    def __init__(self, log: IO[bytes], tell: Tell, hidden: tuple[str, ...]) -> None:
        self._log, self._tell, self._hidden = log, tell, hidden
        self._looked = time.monotonic()
        self._allowance = Allowance(self._looked)
        self._begun = b""

    def look(self, *, last: bool = False) -> None:
        """Tells the lines that have come; call it as often as you like."""
        now = time.monotonic()
        if now - self._looked < LOOK_S and not last:
            return
        self._looked = now
        *lines, begun = (self._begun + self._log.read(READ_BYTES)).split(b"\n")
        self._begun = begun[:READ_BYTES]
        for line in lines:
            text = without(line.decode("utf-8", "replace"), self._hidden).strip()
            if text and self._allowance.grants(now):
                self._tell(short(text, LINE_CHARS))


def without(text: str, hidden: tuple[str, ...]) -> str:
    for part in hidden:
        text = text.replace(part, "")
    return text
