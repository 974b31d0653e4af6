"""What breaks in or around a warm interpreter costs neither another one nor what holds it, and is told."""

import logging
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.conformance.harness import eventually
from tests.conformance.wear import groups_of
from tests.conftest import Require

from skillfleet_workers.runtimes.base import Limits, RuntimeUnavailableError
from skillfleet_workers.runtimes.cgroups import Cgroups, find_cgroups
from skillfleet_workers.runtimes.isolation import sandbox_trouble, sandbox_user
from skillfleet_workers.runtimes.resident import Resident
from skillfleet_workers.runtimes.warm.channel import DeadInterpreterError, Lease
from skillfleet_workers.runtimes.warm.interpreter import WarmInterpreter
from skillfleet_workers.runtimes.warm.pool import Pool
from skillfleet_workers.runtimes.warm.recipe import Recipe

RECIPE = Recipe(Path("/"), Path("/python"), False, (), (), Limits(), "none", (), True)


class OddError(Exception):
    """One that nobody has thought of."""


@dataclass(eq=False)
class Brittle:
    """Runs nothing. What it is asked to do in `breaks` raises."""

    recipe: Recipe
    breaks: dict[str, Exception]
    runs: int = 0
    kill_grace_s: float = 1.0
    ended: threading.Event = field(default_factory=threading.Event)

    def _do(self, what: str) -> None:
        if what in self.breaks:
            raise self.breaks[what]

    def start(self, *, preload: bool = True) -> None:
        self._do("start")

    def ask(self) -> None:
        self._do("ask")

    def lease(self) -> Lease:
        self._do("lease")
        self.runs += 1
        return Lease.__new__(Lease)

    def oom_kills(self) -> int:
        return 0

    def memory_bytes(self) -> int:
        self._do("memory_bytes")
        return 0

    def end(self) -> None:
        self.ended.set()
        self._do("end")


class Brittles:
    """A pool of them, and all that it has made. `breaks` is theirs and may change."""

    def __init__(self) -> None:
        self.breaks: dict[str, Exception] = {}
        self.made: list[Brittle] = []
        self.pool = Pool(self._make, 1 << 30)

    def _make(self, recipe: Recipe) -> Brittle:
        self.made.append(Brittle(recipe, self.breaks))
        return self.made[-1]

    def run(self) -> None:
        taken = self.pool.take(RECIPE, time.monotonic() + 20, threading.Event())
        assert not isinstance(taken, str)
        self.pool.give_back(taken[0])


@pytest.fixture
def brittles() -> Iterator[Brittles]:
    made = Brittles()
    yield made
    made.pool.close()


@pytest.mark.parametrize("what", ["start", "lease", "ask", "memory_bytes"])
def test_one_that_breaks_in_an_unknown_way_is_ended_and_the_next_run_has_another(
    brittles: Brittles, what: str
) -> None:
    brittles.breaks[what] = OddError()
    with pytest.raises(OddError):
        brittles.run()
    assert brittles.pool.interpreters() == [] and brittles.made[0].ended.wait(20)
    brittles.breaks.clear()
    brittles.run()
    assert brittles.pool.interpreters() == brittles.made[1:]


@pytest.mark.parametrize("wrong", [OSError("gone"), DeadInterpreterError("dead")])
def test_one_that_died_while_it_waited_is_ended_and_costs_no_run(brittles: Brittles, wrong: Exception) -> None:
    brittles.run()
    brittles.made[0].breaks = {"lease": wrong}
    brittles.run()
    assert brittles.pool.interpreters() == brittles.made[1:] and brittles.made[0].ended.wait(20)


def test_one_that_cannot_be_started_is_an_error_of_the_host(brittles: Brittles) -> None:
    brittles.breaks["start"] = OSError("no room")
    with pytest.raises(RuntimeUnavailableError, match="no room"):
        brittles.run()


def test_an_end_that_fails_is_told_with_its_traceback(brittles: Brittles, caplog: pytest.LogCaptureFixture) -> None:
    brittles.breaks["end"] = OddError("the group is busy")
    brittles.run()
    brittles.pool.discard(brittles.made[0])
    assert eventually(lambda: "the group is busy" in caplog.text)
    assert "Traceback" in caplog.text and "OddError" in caplog.text


def test_a_replacement_that_fails_is_told_with_its_traceback(
    brittles: Brittles, caplog: pytest.LogCaptureFixture
) -> None:
    brittles.run()
    brittles.breaks["start"] = OddError("cannot be")
    brittles.pool.discard(brittles.made[0], replace=True)
    assert eventually(lambda: "cannot be" in caplog.text)
    assert "Traceback" in caplog.text and len(caplog.records) == 1 and caplog.records[0].levelno == logging.ERROR


class BreaksWhenUp(WarmInterpreter):
    def ask(self) -> None:
        raise OddError


def test_a_start_that_breaks_leaves_no_control_group(require: Require) -> None:
    found = find_cgroups()
    require(isinstance(found, Cgroups) and not sandbox_trouble(), "a sandbox with control groups")
    assert isinstance(found, Cgroups)
    resident, seen = Resident(found.own_prefixes), []
    before = groups_of(os.getpid())

    def make(recipe: Recipe) -> WarmInterpreter:
        seen.append(BreaksWhenUp(recipe, resident, found, sandbox_user()))
        return seen[-1]

    pool = Pool(make, 1 << 30)
    try:
        recipe = RECIPE.__class__(Path("/usr"), Path("/usr/bin/python3"), True, (), (), Limits(), "none", (), True)
        with pytest.raises(OddError):
            pool.take(recipe, time.monotonic() + 20, threading.Event())
        assert seen and pool.interpreters() == []
        assert eventually(lambda: groups_of(os.getpid()) == before)
    finally:
        pool.close()
        resident.close()
