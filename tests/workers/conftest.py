"""An engine and its images, for the tests of containers."""

import subprocess
from collections.abc import Iterator

import docker
import pytest
from tests.conftest import Require
from tests.runtime_image import engine_answers, runtime_image


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
