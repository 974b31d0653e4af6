"""Processes of a fleet on a redis that would lose conversations: they do not start, and say why in one line."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import redis
from tests.system.fleet import Place, free_port, wait_for
from tests.system.redis_processes import answers, configured

from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.fitness import UnfitRedisError, require_fit

EVICTING = "maxmemory 100mb\nmaxmemory-policy allkeys-lru\n"


@contextmanager
def serving(place: Place, settings: str) -> Iterator[str]:
    """The URL of a redis with these settings."""
    port = free_port()
    with configured(place.folder / "redis", f"port {port}\n{settings}"):
        with redis.Redis(port=port) as client:
            wait_for(lambda: answers(client), "redis answers")
        yield f"redis://127.0.0.1:{port}/0"


def test_neither_orchestrator_nor_worker_starts_where_redis_may_drop_keys(place: Place) -> None:
    with serving(place, EVICTING) as url:
        there = Place(place.folder, {"SKILLFLEET_REDIS_URL": url})
        for command, code in (("orchestrator", 3), ("worker", 3), ("doctor", 1)):
            done = there.cli(command)
            told = done.stdout if command == "doctor" else done.stderr
            (line,) = [line for line in told.splitlines() if "maxmemory-policy is allkeys-lru" in line]
            assert (command, done.returncode) == (command, code)
            assert command == "doctor" or done.stderr == f"{line}\n"


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (EVICTING, "maxmemory-policy is allkeys-lru"),
        ("databases 1\n", "two are needed"),
        ("user default on nopass ~* &* +@all -select\n", "two are needed"),
        ("replicaof 127.0.0.1 1\n", "it is a replica"),
    ],
    ids=["evicts", "one database", "SELECT forbidden", "replica"],
)
def test_a_real_redis_that_is_unfit_is_known_as_such(place: Place, settings: str, told: str) -> None:
    refused = pytest.raises(UnfitRedisError, match=told)
    with serving(place, settings) as url, RedisUrls(url).client() as client, refused:
        require_fit(client)


def test_who_may_ask_nothing_of_redis_is_told_so_and_starts(place: Place) -> None:
    silent = "user default on nopass ~* &* +@all -info -config\n"
    with serving(place, silent + EVICTING) as url:
        there = Place(place.folder, {"SKILLFLEET_REDIS_URL": url})
        worker = there.start("worker", module="skillfleet_workers")
        try:
            with there.fleet() as fleet:
                wait_for(lambda: fleet.running("worker"), "it lives")
            assert "may not use INFO" in there.cli("doctor").stdout
        finally:
            worker.terminate()
            worker.communicate()
