"""`python -m bench.soak`: many runs of all kinds while what holds them is killed; then nothing may have grown."""

import argparse
import contextlib
import logging
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from skillfleet_workers.runtimes.cgroups import Cgroups, find_cgroups
from skillfleet_workers.runtimes.container.engine import connect, owned, remove
from skillfleet_workers.runtimes.owner import this_process

from ..execution.ours import Ours
from .held import Watched, adopt_orphans, grown
from .kills import Killer, ours
from .kinds import DISTURBED, Kind, kinds

CALLERS = 3
WARM_UP_RUNS = 6
"""Of each kind, before the first count: a new process grows into its work."""

CLEARINGS = 4
SETTLE_S = 10.0
TRIES = 10


@dataclass
class Soak:
    """`unexplained`: runs that ended as they should not, though nothing of them was killed."""

    kinds: list[Kind]
    opened: Ours
    killer: Killer
    ended: Counter[tuple[str, str]] = field(default_factory=Counter)
    unexplained: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, order: Iterator[Kind], wanted: Callable[[], bool]) -> None:
        """By several callers at once, while one kills."""
        callers = [threading.Thread(target=self._calls, args=(order, wanted)) for _ in range(CALLERS)]
        killer = threading.Thread(target=self.killer.work)
        for thread in (*callers, killer):
            thread.start()
        for thread in callers:
            thread.join()
        self.killer.stop()
        killer.join()

    def _calls(self, order: Iterator[Kind], wanted: Callable[[], bool]) -> None:
        while wanted():
            with self._lock:
                kind = next(order)
            self._call(kind)

    def _call(self, kind: Kind) -> None:
        began = time.monotonic()
        status, why = kind.run(self.opened.runtimes)
        disturbed = self.killer.disturbed(began, time.monotonic())
        with self._lock:
            self.ended[kind.name, status] += 1
            if status != kind.ends and not (disturbed and status in DISTURBED):
                self.unexplained.append(f"{kind.name}: {status}{', after a kill' if disturbed else ''}: {why}")

    def clear(self) -> None:
        """Kill all that waits, then have one interpreter of each kind: the same state whatever was before."""
        victims = [process for _, process in ours()]
        for victim in victims:
            with contextlib.suppress(psutil.Error):
                victim.kill()
        psutil.wait_procs(victims, SETTLE_S)
        if self.killer.engine is not None:
            for container in owned(self.killer.engine, this_process()):
                remove(self.killer.engine, container)
        for kind in self.kinds:
            if not any(kind.run(self.opened.runtimes)[0] == kind.ends for _ in range(TRIES)):
                self.unexplained.append(f"{kind.name}: does not work, {TRIES} times, after all was killed")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seconds", type=float, help="so long instead of so many runs")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    given = parser.parse_args()
    logging.disable()  # each death of a sandbox is told there
    adopt_orphans()
    print(f"seed {given.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="skillfleet-soak-") as folder, ExitStack() as stack:
        opened = Ours(Path(folder), stack)
        return soaked(opened, Path(folder, "scratch"), random.Random(given.seed), _limit(given.runs, given.seconds))


def soaked(opened: Ours, scratch: Path, chance: random.Random, wanted: Callable[[], bool]) -> int:
    """The exit code."""
    for name, why in opened.missing.items():
        print(f"without {name}: {why}")
    engine = connect() if "container" in opened.runtimes else None
    cgroups = find_cgroups()
    watched = Watched(scratch, engine, cgroups if isinstance(cgroups, Cgroups) else None)
    chosen = list(kinds(opened.skill, opened.interpreter, opened.runtimes))
    warm_up = Soak(chosen, opened, Killer(engine, chance))
    warm_up.run(iter(chosen * WARM_UP_RUNS), _countdown(WARM_UP_RUNS * len(chosen)))
    soak = Soak(chosen, opened, Killer(engine, chance))
    before = settled(watched, soak, None)
    began = time.monotonic()
    soak.run(_endless(chosen, chance), wanted)
    took = time.monotonic() - began
    after = settled(watched, soak, before)
    report(soak, before, after, took)
    return int(bool(grown(before, after) or soak.unexplained))


def settled(watched: Watched, soak: Soak, limits: dict[str, int] | None) -> dict[str, int]:
    """What is held by one interpreter of each kind, once that no longer changes; what was being started while the
    others were killed goes with the next ones."""
    for _ in range(CLEARINGS):
        soak.clear()
        give_up = time.monotonic() + SETTLE_S
        held, last = watched.held(), None
        while held != last and time.monotonic() < give_up:
            time.sleep(1)
            held, last = watched.held(), held
        if limits is not None and not grown(limits, held):
            break
    return held


def report(soak: Soak, before: dict[str, int], after: dict[str, int], took: float) -> None:
    runs = soak.ended.total()
    print(f"{runs} runs in {took:.0f} s from {CALLERS} threads")
    print(f"killed: {', '.join(f'{name} {times}' for name, times in sorted(soak.killer.killed.items()))}")
    for kind in soak.kinds:
        counts = {status: times for (name, status), times in sorted(soak.ended.items()) if name == kind.name}
        print(f"  {kind.name:<24}{', '.join(f'{status} {times}' for status, times in counts.items())}")
    growth = grown(before, after)
    print(f"  {'held':<28}{'before':>8}{'after':>8}")
    for what, count in before.items():
        print(f"  {what:<28}{count:>8}{after[what]:>8}{'  GROWN' if what in growth else ''}")
    for line in soak.unexplained:
        print(f"  UNEXPLAINED: {line}")
    print("GROWTH" if growth else "UNEXPLAINED" if soak.unexplained else "nothing has grown", flush=True)


def _endless(chosen: list[Kind], chance: random.Random) -> Iterator[Kind]:
    while True:
        yield from chance.choices(chosen, [kind.weight for kind in chosen])


def _limit(runs: int, seconds: float | None) -> Callable[[], bool]:
    if seconds is None:
        return _countdown(runs)
    until: list[float] = []

    def in_time() -> bool:
        until[:] = until or [time.monotonic() + seconds]
        return time.monotonic() < until[0]

    return in_time


def _countdown(runs: int) -> Callable[[], bool]:
    left = iter(range(runs))
    return lambda: next(left, None) is not None


if __name__ == "__main__":
    sys.exit(main())
