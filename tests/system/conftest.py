"""Fixtures of the system tests: a place for one test, and one fleet that many tests share."""

import signal
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.system.fleet import Place, running_fleet
from tests.system.servers import Provider, RedisServer, provider

WORKERS = 3


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """A shell that starts pytest in the background has it ignore SIGINT, and so all that it starts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def place(state_dir: Path) -> Iterator[Place]:
    """When the test is over, nothing of it may live."""
    here = Place(state_dir)
    try:
        yield here
    finally:
        left = here.end()
    assert not left


@dataclass(frozen=True, slots=True)
class Shared:
    place: Place
    provider: Provider
    redis: RedisServer


@pytest.fixture(scope="session")
def shared() -> Iterator[Shared]:
    """Redis with a password, a provider, an orchestrator and three workers that run one call at a time."""
    with tempfile.TemporaryDirectory(prefix="sf-", dir="/tmp") as folder, provider() as models:
        server = RedisServer(Path(folder) / "redis", password="pw-in-the-url")
        place = Place(Path(folder), {"SKILLFLEET_REDIS_URL": server.url})
        try:
            with server, running_fleet(place, workers=WORKERS, env=models.variables):
                yield Shared(place, models, server)
        finally:
            left = place.end()
        assert not left
