from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conformance.harness import RUNTIMES, Bench

from skillfleet_workers.runtimes.base import Runtime


@pytest.fixture(scope="module")
def runtime(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    made = RUNTIMES[request.param](tmp_path_factory.mktemp("scratch"))
    yield made
    made.close()


@pytest.fixture
def bench(runtime: Runtime, tmp_path: Path) -> Iterator[Bench]:
    """After every test, whatever it was about, nothing of its scripts lives."""
    bench = Bench(runtime, tmp_path)
    yield bench
    assert bench.alive() == []
