"""Redis servers as a careful operator runs them: with any configuration, and watched by sentinels."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import redis
from tests.system.fleet import free_port, wait_for
from tests.system.servers import redis_binary

from skillfleet_workers.wire.connection import RedisUrls

MASTER = "mymaster"
SENTINELS = 3
QUORUM = 2


@contextmanager
def configured(folder: Path, settings: str, *more: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A redis-server with these lines as its whole configuration."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "redis.conf"
    path.write_text(f"dir {folder}\nbind 127.0.0.1\nsave ''\n{settings}")
    process = subprocess.Popen([redis_binary(), path, *more], stdout=subprocess.DEVNULL, cwd=folder)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False


@dataclass(frozen=True, slots=True)
class Watched:
    """A master and its replica under sentinels, all with passwords."""

    url: str
    ports: Sequence[int]
    servers: Sequence["subprocess.Popen[bytes]"]
    sentinels: Sequence["subprocess.Popen[bytes]"]

    @property
    def master(self) -> "subprocess.Popen[bytes]":
        """Whom the sentinels hold for the master now."""
        with RedisUrls(self.url).client() as client:
            return self.servers[self.ports.index(int(client.info("server")["tcp_port"]))]


def _data_server(port: int, of: int | None) -> str:
    replica = "" if of is None else f"replicaof 127.0.0.1 {of}\n"
    return (
        f"port {port}\nrequirepass data-pw\nmasterauth data-pw\nappendonly yes\nappendfsync always\n"
        f"repl-diskless-sync-delay 0\n{replica}"
    )


def _sentinel(port: int, master: int) -> str:
    return (
        f"port {port}\nrequirepass sentinel-pw\nsentinel sentinel-pass sentinel-pw\n"
        f"sentinel monitor {MASTER} 127.0.0.1 {master} {QUORUM}\n"
        f"sentinel auth-pass {MASTER} data-pw\n"
        f"sentinel down-after-milliseconds {MASTER} 1000\nsentinel failover-timeout {MASTER} 5000\n"
    )


@contextmanager
def watched(folder: Path) -> Iterator[Watched]:
    ports = [free_port() for _ in range(2 + SENTINELS)]
    master = ports[0]
    with ExitStack() as stack:

        def start(name: str, settings: str, *more: str) -> "subprocess.Popen[bytes]":
            return stack.enter_context(configured(folder / name, settings, *more))

        servers = [start(f"data{n}", _data_server(ports[n], master if n else None)) for n in range(2)]
        replica = redis.Redis(port=ports[1], password="data-pw")
        stack.callback(replica.close)
        wait_for(lambda: answers(replica) and _follows(replica), "the replica follows")
        sentinels = [start(f"sentinel{n}", _sentinel(ports[2 + n], master), "--sentinel") for n in range(SENTINELS)]
        for port in ports[2:]:
            one = redis.Redis(port=port, password="sentinel-pw")
            stack.callback(one.close)
            wait_for(lambda one=one: answers(one) and _knows_all(one), "the sentinels know each other")  # type: ignore[misc]
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports[2:])
        url = f"sentinel://:data-pw@{hosts}/0?master={MASTER}&sentinel_password=sentinel-pw"
        yield Watched(url, ports[:2], servers, sentinels)


def _follows(replica: redis.Redis) -> bool:
    return bool(replica.info("replication")["master_link_status"] == "up")


def _knows_all(sentinel: redis.Redis) -> bool:
    about = cast(dict[str, Any], sentinel.sentinel_master(MASTER))
    return bool(about["num-other-sentinels"] == SENTINELS - 1 and about["num-slaves"] == 1)
