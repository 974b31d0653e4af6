"""Many runs, some of which end badly, leave things as few did; whatever holds a script may die."""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.conformance.harness import Bench, eventually
from tests.conformance.living import family, gone
from tests.conformance.table import CONTAINERS, FRESH, RUNTIMES, applies
from tests.conformance.wear import HARMLESS, KINDS, held, holder_killed_in_flight, settled

ROUNDS = 60
RUNS_WITH_THREADS = 1000
FRESH_RUNS_WITH_THREADS = 10
"""Enough where every run is a fresh interpreter: nothing is carried from one to the next."""

GROWTH_MB = 50

LIBRARY = """
import queue, threading
questions, answers = queue.Queue(), queue.Queue()
def answer():
    while True:
        answers.put(2 * questions.get())
threading.Thread(target=answer, daemon=True).start()
def ask(number):
    questions.put(number)
    return answers.get(timeout=10)
"""

MULTIPLIES = """
import numpy
a = numpy.ones((300, 300))
print(int((a @ a).sum()))
"""


def runs_with_threads(bench: Bench) -> range:
    return range(FRESH_RUNS_WITH_THREADS if bench.name in FRESH else RUNS_WITH_THREADS)


@pytest.fixture
def fresh(bench: Bench, tmp_path: Path) -> Iterator[Bench]:
    """With a runtime of its own, whose scratch folder is `scratch` in the test's."""
    (tmp_path / "scratch").mkdir()
    own = Bench(bench.name, RUNTIMES[bench.name](tmp_path / "scratch"), tmp_path, bench.mark)
    yield own
    own.runtime.close()


@pytest.mark.timeout(600)
@applies("endurance")
class TestEndurance:
    def test_mixed_runs_with_random_kills_leave_nothing_behind(self, fresh: Bench) -> None:
        # The holder of a container's script belongs to an engine that others use too.
        kinds = HARMLESS if fresh.name in CONTAINERS else KINDS
        # Connections to an engine are kept: as many as were ever needed at once.
        for kind in kinds * (3 if fresh.name in CONTAINERS else 1):
            kind(fresh)
        assert fresh.run("print(1)").stdout == "1\n"
        scratch, us = fresh.folder / "scratch", psutil.Process()
        before, memory = settled(scratch), us.memory_info().rss
        for kind in random.Random(7).choices(kinds, k=ROUNDS):
            kind(fresh)
        assert fresh.run("print(1)").stdout == "1\n"
        assert eventually(lambda: held(scratch).no_more_than(before)), (before, held(scratch))
        assert us.memory_info().rss - memory < GROWTH_MB << 20

    def test_closing_leaves_nothing(self, fresh: Bench) -> None:
        scratch = fresh.folder / "scratch"
        others = {process.pid for process in family(os.getpid())}
        before = settled(scratch)
        for kind in HARMLESS:
            kind(fresh)
        ours = [process for process in family(os.getpid()) if process.pid not in others]
        fresh.runtime.close()
        assert eventually(lambda: gone(ours))
        assert eventually(lambda: held(scratch).no_more_than(before)), (before, held(scratch))

    def test_a_preloaded_module_that_starts_a_thread_works_every_time(self, bench: Bench) -> None:
        request = bench.request("")
        (request.skill_root / "library.py").write_text(LIBRARY)
        environment = {**request.environment, "PYTHONPATH": str(request.skill_root), "PYTHONDONTWRITEBYTECODE": "1"}
        script = "import library; print(library.ask(20))"
        for _ in runs_with_threads(bench):
            done = bench.run(script, environment=environment, preload=("library",))
            assert (done.status, done.stdout, done.stderr) == ("succeeded", "40\n", "")

    def test_a_preloaded_library_with_threads_of_its_own_works_every_time(
        self, bench: Bench, numpy_interpreter: Path
    ) -> None:
        for _ in runs_with_threads(bench):
            done = bench.run(MULTIPLIES, interpreter=numpy_interpreter, preload=("numpy",))
            assert (done.status, done.stdout, done.stderr) == ("succeeded", "27000000\n", "")


@applies("death of a holder")
def test_whatever_holds_a_script_may_die_and_nothing_of_it_lives_on(bench: Bench) -> None:
    for level in range(holder_killed_in_flight(bench)):
        holder_killed_in_flight(bench, level)
    assert bench.run("print(1)").stdout == "1\n"
