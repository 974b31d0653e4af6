"""Many conversations at once against a model that takes a second, in one orchestrator process."""

import statistics
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..measure import at_most, heading, interleaved, listed
from .deployment import Deployment

SLOTS = 100
DELAY_S = 1.0
TIMES_THE_IDEAL = 1.5
WARM_UP = 20


@dataclass(frozen=True, slots=True)
class Kind:
    """A conversation of `calls` tool calls, one a turn, then the answer."""

    title: str
    model: str
    calls: int

    @property
    def turns(self) -> int:
        return self.calls + 1

    def ideal_s(self, count: int) -> float:
        return count * self.turns * DELAY_S / SLOTS


@dataclass(slots=True)
class Spent:
    """Processor milliseconds a conversation, by part, of each round."""

    rounds: list[Mapping[str, float]]

    def median(self) -> dict[str, float]:
        return {part: statistics.median(one[part] for one in self.rounds) for part in self.rounds[0]}


def crowd(count: int, rounds: int) -> None:
    heading(f"{count} conversations at once, a model that takes {DELAY_S:g} s, one orchestrator with {SLOTS} slots")
    with tempfile.TemporaryDirectory(prefix="skillfleet-bench-") as folder, Deployment(Path(folder), SLOTS) as fleet:
        kinds = [
            Kind(f"{what}, {how}", model(calls, DELAY_S), calls)
            for calls, what in ((0, "1 turn"), (1, "2 turns and 1 tool call"))
            for how, model in (("scripted model", fleet.scripted), ("real HTTP, official SDK", fleet.over_http))
        ]
        for kind in kinds:
            fleet.converse(kind.model, WARM_UP, kind.calls)
        spent = {kind.title: Spent([]) for kind in kinds}
        cases = {kind.title: partial(_round, fleet, kind, count, spent[kind.title]) for kind in kinds}
        found = interleaved(cases, rounds)
    for kind in kinds:
        _print_kind(kind, count, statistics.median(found[kind.title]), spent[kind.title])


def _round(fleet: Deployment, kind: Kind, count: int, spent: Spent) -> list[float]:
    before = fleet.spent_ms()
    took = fleet.converse(kind.model, count, kind.calls, patience_s=20 * kind.ideal_s(count))
    after = fleet.spent_ms()
    spent.rounds.append({part: (after[part] - before[part]) / count for part in before})
    return [took]


def _print_kind(kind: Kind, count: int, took: float, spent: Spent) -> None:
    ideal, middle = kind.ideal_s(count), spent.median()
    print(f"  {kind.title:<50}{took:>8.2f} s   the ideal is {ideal:g} s")
    print(f"  {'  processor ms a conversation':<50}{sum(middle.values()):>8.1f}     {listed(middle)}")
    print(at_most("times the ideal", took / ideal, TIMES_THE_IDEAL))
