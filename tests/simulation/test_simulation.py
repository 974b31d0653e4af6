"""The real engine, driver and dispatch in a world where everything goes wrong, seed by seed."""

import logging
import os
import re
from collections import Counter
from collections.abc import Iterator

import pytest
from tests.simulation.planted import PLANTED
from tests.simulation.run import Outcome, simulate
from tests.simulation.weather import WORST, Weather

SEEDS = range(150)
FOUND_WITHIN = 100
"""Seeds in which each planted bug must show."""

CALM = Weather()


@pytest.fixture(autouse=True, scope="module")
def on_one_core() -> Iterator[None]:
    """Threads that take turns do so much faster on one core; and outages are not worth a line of log each."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    logging.disable()
    yield
    logging.disable(logging.NOTSET)
    os.sched_setaffinity(0, cores)


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    return [simulate(seed) for seed in SEEDS]


def test_no_seed_breaks_an_invariant(outcomes: list[Outcome]) -> None:
    broken = {outcome.seed: outcome.violation for outcome in outcomes if outcome.violation}
    assert not broken, "see python -m tests.simulation --seed N"


def test_the_seeds_meet_every_kind_of_end_and_of_trouble(outcomes: list[Outcome]) -> None:
    ends = Counter(status for outcome in outcomes for status in outcome.statuses.values())
    assert min(ends[status] for status in ("completed", "failed", "cancelled", "expired")) > 5
    told = "\n".join(outcome.trace for outcome in outcomes)
    for trouble in (
        "refused", "dies: before", "dies: after", "dies: of", "is stopped", "loses", ": handed_back", "is flushed",
        "is gone", "does not hear",
        ": taken", ": duplicate", ": ended", ": again", ": paused", "has handed back", "kills", "resumes",
        "says approved", "says denied", "says answered",
    ):  # fmt: skip
        assert trouble in told, trouble


def test_a_seed_is_one_run_whenever_it_is_run(outcomes: list[Outcome]) -> None:
    assert [simulate(outcome.seed) for outcome in outcomes[:10]] == outcomes[:10]


def test_where_nothing_goes_wrong_nothing_is_refused_lost_or_done_twice() -> None:
    for seed in range(10):
        outcome = simulate(seed, weather=CALM)
        assert outcome.violation is None
        stopped = set(re.findall(r"(?:cancels|pauses) (c[\d-]+)", outcome.trace))
        # Subagents are ended, with their parent or by it, while their models think.
        stopped |= {name for name, status in outcome.statuses.items() if "-" in name and status == "cancelled"}
        odd = set(re.findall(r"commits (c[\d-]+)(?: with|\.).*(?:refused|duplicate)", outcome.trace))
        assert not [name for name in odd if not any(f"{name}-".startswith(f"{one}-") for one in stopped)]


def test_everything_at_once_and_at_its_worst_breaks_nothing() -> None:
    assert [simulate(seed, weather=WORST).violation for seed in range(10)] == [None] * 10


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_found(bug: str) -> None:
    assert any(simulate(seed, PLANTED[bug]).violation for seed in range(FOUND_WITHIN))
