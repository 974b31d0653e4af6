"""All of it, or one part."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .backlog import backlog
from .crowd import crowd
from .history import history
from .waiting import waiting


@dataclass(frozen=True, slots=True)
class Size:
    """`crowd`, `waiting`, `backlog`: conversations; `lengths`: messages of a history."""

    crowd: int
    rounds: int
    waiting: int
    lengths: tuple[int, ...]
    backlog: int


FULL = Size(crowd=1000, rounds=3, waiting=1000, lengths=(10, 100, 1000), backlog=10_000)
QUICK = Size(crowd=300, rounds=1, waiting=200, lengths=(10, 100), backlog=2000)

PARTS: Mapping[str, Callable[[Size], None]] = {
    "crowd": lambda size: crowd(size.crowd, size.rounds),
    "waiting": lambda size: waiting(size.waiting),
    "history": lambda size: history(size.lengths),
    "backlog": lambda size: backlog(size.backlog),
}


def scale(only: str | None, *, quick: bool) -> None:
    for name, part in PARTS.items():
        if only in (None, "scale", name):
            part(QUICK if quick else FULL)
