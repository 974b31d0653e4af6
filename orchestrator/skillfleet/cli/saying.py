"""What a model says just now, put together from live entries, and its last lines as a terminal shows them."""

from typing import Any

from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.text import Text

from skillfleet_workers.wire.printable import printable

from ..events import Entry

KEPT_CHARS = 2400
"""Of a text: more than any terminal shows of it."""

TAB_CHARS = 4
LEAST_CELLS = 10
CUT = "…"


class Saying:
    """Of one turn at a time. What comes late, or again, or with a gap before it, changes nothing but what is missing:
    each entry says where it stands."""

    def __init__(self) -> None:
        self._turn, self._attempt = 0, 1
        self._lines: dict[int | None, _Line] = {}

    def see(self, entry: Entry) -> None:
        match entry.type:
            case "turn":
                self._begin(entry.data["turn"], 1)
            case "message" if entry.data["role"] == "assistant":
                self._begin(0, 1)
            case "ended" | "paused":
                self._begin(0, 1)
            case "again" | "token" | "arguments" if self._is_of_now(entry.data):
                if entry.data["attempt"] > self._attempt:
                    self._begin(self._turn, entry.data["attempt"])
                if entry.type != "again":
                    index = entry.data.get("index")
                    self._lines.setdefault(index, _Line()).add(entry.data)
            case _:
                pass

    @property
    def text(self) -> str:
        """The end of it."""
        return self._lines[None].text if None in self._lines else ""

    @property
    def calls(self) -> list[tuple[str, str]]:
        """Names and the ends of their arguments, those that grew last at the end."""
        return [(line.name, line.text) for index, line in self._lines.items() if index is not None]

    def _is_of_now(self, data: dict[str, Any]) -> bool:
        return bool(data["turn"] == self._turn and data["attempt"] >= self._attempt)

    def _begin(self, turn: int, attempt: int) -> None:
        self._turn, self._attempt = turn, attempt
        self._lines.clear()


class _Line:
    """The text, or the arguments of one call: its end, which begins after `before` characters."""

    def __init__(self) -> None:
        self.name = self.text = ""
        self._before = 0

    def add(self, data: dict[str, Any]) -> None:
        self.name = data.get("name", "")
        known = data["at"] - self._before
        if 0 <= known <= len(self.text):
            self.text = self.text[:known] + data["text"]
        else:
            self._before, self.text = data["at"] - len(CUT), CUT + data["text"]
        over = len(self.text) - KEPT_CHARS
        if over > KEPT_CHARS:  # rarely, because lines are broken anew
            self._before, self.text = self._before + over, self.text[over:]


def last_lines(text: str, console: Console, most: int, *, indented: int = 0) -> list[str]:
    """Broken into lines that fit beside so many cells, between words where there are any."""
    lines: list[str] = []
    for written in reversed(text.splitlines()):
        shown = Text(printable(written.expandtabs(TAB_CHARS)))
        wrapped = shown.wrap(console, max(LEAST_CELLS, console.width - indented)) if shown else [shown]
        lines = [line.plain.rstrip() for line in wrapped] + lines
        if len(lines) >= most:
            break
    return lines[-most:]


def tail(text: str, width: int) -> str:
    """Its end, on one line."""
    shown = printable(" ".join(text.split()))
    if cell_len(shown) <= width:
        return shown
    end = chop_cells(shown[: -width - 1 : -1], width - cell_len(CUT))[0]
    return CUT + end[::-1]
