"""What waits for a redis that is away, how long, and what is said of it."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from tests.system.fleet import free_port
from tests.system.servers import RedisServer

from skillfleet.errors import NoBrokerError
from skillfleet.outage import Outages


@dataclass
class Told:
    notices: list[str] = field(default_factory=list)
    mended: int = 0

    def outages(self, patience_s: float = 60) -> Outages:
        return Outages(self.notices.append, self.mend, "but nothing is lost", patience_s)

    def mend(self) -> None:
        self.mended += 1


def client(port: int) -> redis.Redis:
    return redis.Redis(port=port, retry=Retry(NoBackoff(), 0))


def test_an_outage_is_told_once_when_it_begins_and_once_when_it_is_over(tmp_path: Path) -> None:
    told, server = Told(), RedisServer(tmp_path / "redis")
    outages, ping = told.outages(), client(server.port).ping
    for tries in (1, 2, 3):
        assert outages.attempt(ping) is None
        assert told.mended == tries
    with server:
        assert outages.wait_for(ping)
        assert outages.attempt(ping)
    away, back = told.notices
    assert away.startswith("redis is away (") and back.startswith("redis is back after ")
    assert told.mended == 3
    assert outages.attempt(ping) is None
    assert len(told.notices) == 3


def test_a_redis_that_stays_away_is_given_up() -> None:
    told = Told()
    with pytest.raises(NoBrokerError, match=r"^lost redis: .*; but nothing is lost$"):
        told.outages(patience_s=0.1).wait_for(client(free_port()).ping)
    assert told.mended


def test_a_redis_that_refuses_us_is_not_waited_for(tmp_path: Path) -> None:
    told = Told()
    with RedisServer(tmp_path / "redis", password="right") as server:
        asked = redis.Redis(port=server.port, password="wrong", retry=Retry(NoBackoff(), 0))
        with pytest.raises(NoBrokerError, match="lost redis"):
            told.outages().attempt(asked.ping)
    assert (told.notices, told.mended) == ([], 0)
