"""What tests of every folder share: a short state folder, a private redis, and the rule for what is missing."""

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from tests.postgres_server import Postgres, binary, postgres

from skillfleet.local.redis_server import PrivateRedis
from skillfleet_workers.wire.connection import FleetSettings, RedisUrls

# What a shell runs in the background ignores these, and so would every plain python that we compare with.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGQUIT) is signal.SIG_IGN:
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)

if os.environ.get("CI") != "true":  # whose own profile has no deadline either
    settings.register_profile("patient", deadline=None)
    settings.load_profile("patient")

Require = Callable[[bool, str], None]


def require_or_skip(condition: bool, reason: str) -> None:
    """What a test needs and the machine lacks: locally the test is skipped, in CI (env CI=true) it fails."""
    if condition:
        return
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI must have it: {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def require() -> Require:
    return require_or_skip


def _short_folder() -> Iterator[Path]:
    # Not pytest's tmp_path: unix sockets live in it, and their paths must stay short.
    folder = Path(tempfile.mkdtemp(prefix="sf-", dir="/tmp"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def state_dir() -> Iterator[Path]:
    yield from _short_folder()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    require_or_skip(binary("initdb") is not None, "PostgreSQL (Debian's package postgresql) is not installed")
    with postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def history_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of an empty database, of each kind in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'history.db'}"
    server: Postgres = request.getfixturevalue("postgres_server")
    return server.new_database()


@pytest.fixture(scope="session")
def private_redis() -> Iterator[RedisUrls]:
    """One private redis for the whole run; use `redis_urls` for a clean one."""
    for folder in _short_folder():
        settings = FleetSettings(redis_url=None, state_dir=folder)
        with PrivateRedis(settings):
            yield RedisUrls.of(settings)


@pytest.fixture
def redis_urls(private_redis: RedisUrls) -> RedisUrls:
    """A redis without a key."""
    with private_redis.client() as client:
        client.flushall()
    return private_redis
