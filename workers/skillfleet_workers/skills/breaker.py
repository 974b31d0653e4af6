"""When a skill that keeps breaking is called again, and when it counts as unreliable (pure)."""

from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

from ..wire.contract import MAX_TIMEOUT_SECONDS

Outcome = Literal["ok", "failed", "broke"]
"""`failed`: a script ended with an error of its own, which bad input can bring about; `broke`: it did not end."""

BROKE_TO_OPEN = 5
OPENINGS_TO_GIVE_UP = 5
FIRST_OPEN_S, MOST_OPEN_S = 30.0, 600.0
PROBE_S = float(MAX_TIMEOUT_SECONDS)
"""A probe that was not heard of for so long never will be."""

REMEMBERED = 20
ENOUGH = 8
"""With fewer runs nothing is said of a skill's reliability."""

SLOW_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class Breaker:
    """`broke`: so many runs in a row; `openings`: since the last success. `open_until`: None while it is closed and
    lets all calls through. `probe`: when the one call that tries it out began. Times are seconds of one clock."""

    broke: int = 0
    openings: int = 0
    open_until: float | None = None
    probe: float | None = None

    @property
    def given_up(self) -> bool:
        return self.open_until is not None and self.openings >= OPENINGS_TO_GIVE_UP

    def admits(self, now: float) -> bool:
        if self.open_until is None:
            return True
        free = self.probe is None or now - self.probe >= PROBE_S
        return not self.given_up and free and now >= self.open_until

    def admitted(self, now: float) -> "Breaker":
        """A call that it admits begins."""
        return self if self.open_until is None else replace(self, probe=now)

    def after(self, outcome: Outcome | None, now: float, began: float) -> "Breaker":
        """A call that began then has ended; None: nothing can be learned from it."""
        if self.open_until is None:
            return self._closed_after(outcome, now)
        if self.given_up or self.probe is None or began < self.probe:
            return self  # It was under way before this opened.
        match outcome:
            case "ok":
                return Breaker()
            case "failed":
                return Breaker(openings=self.openings)
            case "broke":
                return self._opened(now)
            case None:
                return replace(self, probe=None)

    def _closed_after(self, outcome: Outcome | None, now: float) -> "Breaker":
        match outcome:
            case "ok":
                return Breaker()
            case "failed":
                return replace(self, broke=0)
            case "broke":
                broken = replace(self, broke=self.broke + 1)
                return broken._opened(now) if broken.broke >= BROKE_TO_OPEN else broken
            case None:
                return self

    def _opened(self, now: float) -> "Breaker":
        seconds = min(FIRST_OPEN_S * 2**self.openings, MOST_OPEN_S)
        return Breaker(openings=self.openings + 1, open_until=now + seconds)


@dataclass(frozen=True, slots=True)
class Recent:
    """The last runs: whether each was ok, and how much of its time it took (None: it had no limit)."""

    runs: tuple[tuple[bool, float | None], ...] = ()

    def after(self, ok: bool, share: float | None) -> "Recent":
        return Recent((*self.runs, (ok, share))[-REMEMBERED:])

    @property
    def unreliable(self) -> bool:
        return len(self.runs) >= ENOUGH and 2 * sum(not ok for ok, _ in self.runs) >= len(self.runs)

    @property
    def slow(self) -> bool:
        shares = [share for _, share in self.runs if share is not None]
        return len(shares) >= ENOUGH and median(shares) > SLOW_SHARE
