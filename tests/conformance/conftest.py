import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conformance.harness import Bench
from tests.conformance.table import HOLDING, RUNTIMES, Wanted, is_locked, sums
from tests.conftest import Require

from skillfleet_workers.environments.build import Environments
from skillfleet_workers.runtimes.base import Runtime, RuntimeUnavailableError
from skillfleet_workers.skills.models import Skill


@pytest.fixture(scope="module")
def runtime(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, require: Require
) -> Iterator[Runtime]:
    wanted: Wanted = request.param
    if wanted.summed and not sums(wanted.name):
        require(os.geteuid() != 0, "control groups")
        pytest.skip("not for an ordinary user: memory is limited for each process by itself")
    made = RUNTIMES[wanted.name](tmp_path_factory.mktemp("scratch"))
    try:
        isolation = Bench(wanted.name, made, tmp_path_factory.mktemp("first")).run("").isolation
    except RuntimeUnavailableError as missing:
        made.close()
        require(False, f"{wanted.name}: {missing}")
    held = isolation in HOLDING or (wanted.locked and wanted.name == "process" and is_locked())
    require(held or not wanted.held, f"{wanted.name} holds no hostile code here: {isolation}")
    yield made
    made.close()


@pytest.fixture
def bench(request: pytest.FixtureRequest, runtime: Runtime, tmp_path: Path) -> Iterator[Bench]:
    """After every test, whatever it was about, nothing of its scripts lives."""
    bench = Bench(request.node.callspec.params["runtime"].name, runtime, tmp_path)
    yield bench
    assert bench.alive() == []


@pytest.fixture(scope="session")
def numpy_interpreter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of an environment that a worker has built for a skill with numpy, which starts threads of its own."""
    skill = tmp_path_factory.mktemp("numpy-skill")
    (skill / "requirements.txt").write_text("numpy\n")
    interpreter = Environments(tmp_path_factory.mktemp("environments")).interpreter_for(Skill("arrays", skill))
    assert isinstance(interpreter, Path), interpreter
    return interpreter
