"""A reply as it comes, and what of it waits to be told live (pure)."""

from dataclasses import dataclass

from ..events import LiveTold, again, arguments, token
from ..llm.base import Again, Calling, Piece, Said

MOST_WAITING = 16_384
"""Characters of one reply that wait to be told; where more would, those before are skipped."""

MOST_CALLS = 128
"""Tool calls of one reply whose arguments are told as they come."""

NAME_CHARS = 128
"""Of a tool, which is told with every piece of its arguments: more than any tool's has."""

_TEXT = -1
"""Where the text stands among the calls."""


@dataclass(slots=True)
class _Line:
    """The text, or the arguments of one call. `heard`: how many characters; `waiting`: the last of them; `told`: how
    far they were told, `told_before` the last time."""

    name: str = ""
    heard: int = 0
    waiting: str = ""
    told: int = 0
    told_before: int = 0


class HeardReply:
    """Of one turn (counted from 1)."""

    def __init__(self, turn: int) -> None:
        self._turn, self._attempt = turn, 1
        self._again = False
        self._lines: dict[int, _Line] = {}
        self._fresh: dict[int, None] = {}
        """Of which lines something waits, in the order in which they were heard."""
        self._waiting = 0

    def hear(self, piece: Piece) -> bool:
        """Whether there is anything to tell of it. Of a plugin it may be anything."""
        match piece:
            case Said(str(text)) if text:
                self._more(_TEXT, "", text)
            case Calling(int(index), str(name), str(more)) if 0 <= index < MOST_CALLS and (
                more or index not in self._lines
            ):
                self._more(index, name, more)
            case Again():
                self._again, self._attempt = True, self._attempt + 1
                self._lines.clear()
                self.skip()
            case _:
                return False
        return True

    def take(self) -> list[LiveTold]:
        """What waits, which is taken for told."""
        for line in self._lines.values():
            line.told_before = line.told
        told = [again(self._turn, self._attempt)] if self._again else []
        told += [self._entry(place, self._lines[place]) for place in self._fresh]
        self._again = False
        self.skip()
        return told

    def skip(self) -> None:
        """What waits is not told any more."""
        for place in self._fresh:
            if line := self._lines.get(place):
                line.waiting = ""
        self._fresh.clear()
        self._waiting = 0

    def lose(self) -> None:
        """What was taken last was not told."""
        for line in self._lines.values():
            line.told = line.told_before

    def _more(self, place: int, name: str, text: str) -> None:
        if self._waiting + len(text) > MOST_WAITING:
            self.skip()
        line = self._lines.setdefault(place, _Line())
        line.name = name[:NAME_CHARS] or line.name  # providers send it once, or as it grows
        line.heard += len(text)
        newest = text[-MOST_WAITING:]
        line.waiting += newest
        self._waiting += len(newest)
        self._fresh[place] = None

    def _entry(self, place: int, line: _Line) -> LiveTold:
        at = line.heard - len(line.waiting)
        skipped = at - line.told
        line.told = line.heard
        if place == _TEXT:
            return token(self._turn, self._attempt, at, line.waiting, skipped)
        return arguments(self._turn, self._attempt, place, line.name, at, line.waiting, skipped)
