"""`python -m tests.simulation --seeds 2000` runs many seeds; `--seed N` tells the whole story of one."""

import argparse
import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import count

from .planted import PLANTED
from .run import Bug, Outcome, simulate

BATCH = 20
MAX_SHOWN = 3


def main() -> int:
    options = _options()
    bug = PLANTED[options.bug] if options.bug else Bug()
    logging.disable()
    if options.seed is not None:
        outcome = simulate(options.seed, bug)
        print(outcome.trace)
        return _verdict(outcome)
    began = time.monotonic()
    statuses: Counter[str] = Counter()
    broken: list[Outcome] = []
    seeds = range(options.start, options.start + options.seeds)
    for done, outcomes in enumerate(_batches(seeds, options.bug), start=1):
        for outcome in outcomes:
            statuses.update(outcome.statuses.values())
            broken += [outcome] if outcome.violation else []
        _progress(min(done * BATCH, options.seeds), options.seeds, len(broken), time.monotonic() - began)
    print(f"\n{options.seeds} seeds, {statuses.total()} conversations: {dict(statuses.most_common())}")
    for outcome in broken[:MAX_SHOWN]:
        print(outcome.trace)
    for outcome in broken:
        _verdict(outcome)
    return 1 if broken else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=2000, help="how many to run (default: %(default)s)")
    parser.add_argument("--start", type=int, default=0, help="the first of them")
    parser.add_argument("--seed", type=int, help="run this one and print its trace")
    parser.add_argument("--bug", choices=PLANTED, help="with a bug that is known")
    return parser.parse_args()


def _batches(seeds: range, bug: str | None) -> Iterator[list[Outcome]]:
    batches = (seeds[at : at + BATCH] for at in range(0, len(seeds), BATCH))
    cores = sorted(os.sched_getaffinity(0))
    with ProcessPoolExecutor(len(cores)) as pool:
        yield from pool.map(partial(_batch, cores, bug), count(), batches)


def _batch(cores: list[int], bug: str | None, number: int, seeds: Iterable[int]) -> list[Outcome]:
    """The turns of one run are taken on one core, which makes them ten times cheaper."""
    logging.disable()
    os.sched_setaffinity(0, {cores[number % len(cores)]})
    return [simulate(seed, PLANTED[bug] if bug else Bug()) for seed in seeds]


def _progress(done: int, of: int, broken: int, seconds: float) -> None:
    text = f"{done}/{of} seeds, {broken} broken, {done / seconds:.0f} a second"
    if sys.stderr.isatty():
        print(f"\r{text}", end="", file=sys.stderr, flush=True)
    elif done % 1000 == 0:
        print(text, file=sys.stderr, flush=True)


def _verdict(outcome: Outcome) -> int:
    if outcome.violation is None:
        return 0
    print(f"seed {outcome.seed}: {outcome.violation}", file=sys.stderr)
    print(f"  again: python -m tests.simulation --seed {outcome.seed}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
