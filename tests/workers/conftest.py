"""A warm runtime and what it is asked; an engine, its images and a runtime of containers."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
from tests.conftest import Require
from tests.runtime_image import engine_answers, runtime_image
from tests.workers.containers import Bench
from tests.workers.warm_parts import make

from skillfleet_workers.runtimes.base import RunRequest
from skillfleet_workers.runtimes.container.runtime import ContainerRuntime
from skillfleet_workers.runtimes.isolation import sandbox_trouble
from skillfleet_workers.runtimes.warm.runtime import WarmRuntime


@pytest.fixture
def warm_runtime(require: Require) -> Iterator[WarmRuntime]:
    trouble = sandbox_trouble()
    require(not trouble, f"a sandbox: {trouble}")
    made = make()
    yield made
    made.close()


@pytest.fixture
def ask(tmp_path: Path) -> RunRequest:
    skill = tmp_path / "skill"
    skill.mkdir()
    return RunRequest("s", skill, Path(sys.executable), "print(1)", {"PATH": "/usr/bin:/bin"}, 30)


@pytest.fixture(scope="session")
def engine(require: Require) -> Iterator[docker.DockerClient]:
    require(engine_answers(), "a Docker engine (tests/system/start-docker.sh starts one)")
    client = docker.from_env()
    yield client
    client.close()


@pytest.fixture(scope="session")
def container_image(engine: docker.DockerClient) -> str:
    return runtime_image()


@pytest.fixture(scope="session")
def bare_image(container_image: str) -> str:
    """No Python in it."""
    file = f"FROM {container_image}\nRUN rm -f /usr/bin/python3* /usr/local/bin/python3*\nENV GIVEN=image\n"
    subprocess.run(["docker", "build", "-q", "-t", "skillfleet-bare:test", "-"], input=file.encode(), check=True)
    return "skillfleet-bare:test"


@pytest.fixture
def bench(container_image: str, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path, ContainerRuntime(tmp_path, container_image, fleet="tested"))
    yield made
    made.runtime.close()
