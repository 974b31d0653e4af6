"""Alternating rounds, and what they came to."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

ENOUGH_FOR_P99 = 100

Case = Callable[[], Sequence[float]]
"""One round of one side: its samples."""


@dataclass(frozen=True, slots=True)
class Summary:
    """`low` and `high` are the 10th and 90th percentile."""

    median: float
    low: float
    high: float
    p99: float
    runs: int


def interleaved(cases: Mapping[str, Case], rounds: int) -> dict[str, list[float]]:
    """Every side once a round, the first one last in the next: what else the machine does hits all alike."""
    samples: dict[str, list[float]] = {name: [] for name in cases}
    for number in range(rounds):
        order = list(cases)[:: 1 if number % 2 == 0 else -1]
        for name in order:
            samples[name] += cases[name]()
    return samples


def summary(samples: Sequence[float]) -> Summary:
    ordered = sorted(samples)
    last = len(ordered) - 1
    return Summary(
        median=statistics.median(ordered),
        low=ordered[round(last * 0.1)],
        high=ordered[round(last * 0.9)],
        p99=ordered[round(last * 0.99)],
        runs=len(ordered),
    )


def heading(text: str) -> None:
    print(f"\n{text}", flush=True)


def listed(values: Mapping[str, float]) -> str:
    """The dearest first."""
    return ", ".join(f"{name} {value:.1f}" for name, value in sorted(values.items(), key=lambda item: -item[1]))


def row(name: str, found: Summary, unit: str, ratio: str = "") -> str:
    p99 = f", p99 {found.p99:.2f}" if found.runs >= ENOUGH_FOR_P99 else ""
    spread = f"({found.low:.2f} to {found.high:.2f}{p99}, {found.runs} runs)"
    return f"  {name:<28}{found.median:>9.2f} {unit:<5}  {spread}{ratio}"


def compared(ours: Summary, peer: Summary, *, more_is_better: bool) -> str:
    factor = better_by(ours, peer, more_is_better=more_is_better)
    return f"  {'':<28}{factor:>9.2f} times {'as many' if more_is_better else 'as fast'} as the peer"


def better_by(ours: Summary, peer: Summary, *, more_is_better: bool = False) -> float:
    return ours.median / peer.median if more_is_better else peer.median / ours.median


def at_least(what: str, found: float, wanted: float) -> str:
    return _aim(what, f"{found:.2f}, aim at least {wanted:g}", found >= wanted)


def at_most(what: str, found: float, wanted: float, unit: str = "") -> str:
    return _aim(what, f"{found:.2f}, aim at most {wanted:.4g}{unit}", found <= wanted)


def _aim(what: str, figures: str, met: bool) -> str:
    return f"  {'aim met' if met else 'AIM MISSED'}: {what}: {figures}"
