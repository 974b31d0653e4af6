"""Real processes under SIGKILL, ours beside the naive Celery way; exit 1 on any violation of ours."""

import argparse
import logging
import random
import signal
import sys
import tempfile
from pathlib import Path

import pytest

from .crew import manned
from .naive import Careful, Naive
from .ours import Ours
from .report import table
from .roll import Roll
from .run import Plan, Ran, under_fire
from .scenarios import SCENARIOS
from .scenarios.scenario import Verdict

PATIENCE_S = {"skillfleet": (60.0, 240.0), "naive": (20.0, 60.0), "careful": (75.0, 90.0)}
"""Without progress, and in all; Careful has time for what comes back after its visibility timeout."""


def main() -> int:
    options = _options()
    logging.disable()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # with all that was started
    if options.scenario:
        return _scenarios(options.scenario, options.seed, full=not options.short)
    sides = {"ours": ["skillfleet"], "naive": ["naive", "careful"], None: ["skillfleet", "naive", "careful"]}
    say(f"seed {options.seed}")
    runs = []
    for name in sides[options.only]:
        say(f"-- {name}: {options.conversations} conversations of 3 calls")
        plan = Plan(options.conversations, options.seconds, options.seed, *PATIENCE_S[name])
        runs.append(_run(name, plan))
    say(table(runs))
    ours = [run for run in runs if run.name == "skillfleet"]
    for wrong in [line for run in ours for line in (*run.outcome.violations, *run.deserters)][:20]:
        say(f"VIOLATION: {wrong}")
    return 0 if all(run.sound for run in ours) else 1


def _run(name: str, plan: Plan) -> Ran:
    with (
        tempfile.TemporaryDirectory(prefix="sf-", dir="/tmp") as folder,
        Roll() as roll,
        manned(Path(folder)) as crew,
    ):
        if name == "skillfleet":
            return under_fire(Ours(crew, roll), crew, plan, say)
        side = Naive(crew, roll) if name == "naive" else Careful(crew, roll)
        return under_fire(side, crew, plan, say, groups_only=True)


def _scenarios(name: str, seed: int, *, full: bool) -> int:
    chosen = list(SCENARIOS) if name == "all" else [name]
    failed = 0
    for one in chosen:
        try:
            verdict = SCENARIOS[one](random.Random(seed), full)
        except pytest.fail.Exception as late:
            verdict = Verdict(violations=[str(late)])
        say(f"{one}: {verdict}")
        failed += not verdict.sound
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--conversations", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=90.0, help="how long to kill, at most")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--only", choices=["ours", "naive"])
    parser.add_argument("--scenario", choices=[*SCENARIOS, "all"], help="one other fault, alone")
    parser.add_argument("--short", action="store_true", help="the scenario as in the tests")
    return parser.parse_args()


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
