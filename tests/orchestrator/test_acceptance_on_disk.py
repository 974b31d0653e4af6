"""Acceptance where the server can tell what is on its disk (WAITAOF, Redis 7.2): a proxy answers that one command
for a server that lacks it, and passes on all else."""

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from redis.exceptions import TimeoutError as RedisTimeoutError
from tests.conversation_steps import make_spec

from skillfleet.conversations.redis_ledger import RedisLedger
from skillfleet_workers.wire.connection import RedisUrls

UNKNOWN_OR_ON_DISK = re.compile(rb"-ERR unknown command '?`?WAITAOF[^\r]*\r\n|\*2\r\n:1\r\n:0\r\n")


class Answering:
    """In front of the server at `upstream`; `asked` counts WAITAOF."""

    def __init__(self, upstream: str, listener: socket.socket, on_disk: int) -> None:
        self._upstream, self._listener, self._on_disk = upstream, listener, on_disk
        self.asked = 0

    def run(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._upstream)
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=self._pass, args=(source, target), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 20):
                self.asked += data.count(b"$7\r\nWAITAOF")
                target.sendall(UNKNOWN_OR_ON_DISK.sub(b"*2\r\n:%d\r\n:0\r\n" % self._on_disk, data))
            target.shutdown(socket.SHUT_RDWR)


@contextmanager
def answering(urls: RedisUrls, folder: Path, on_disk: int) -> Iterator[tuple[Answering, RedisLedger]]:
    path = folder / "proxy.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        proxy = Answering(urls.url.removeprefix("unix://"), listener, on_disk)
        threading.Thread(target=proxy.run, daemon=True).start()
        yield proxy, RedisLedger(RedisUrls(f"unix://{path}"), "test")
        listener.shutdown(socket.SHUT_RDWR)


def test_an_id_is_given_out_once_the_server_says_that_it_is_on_disk(redis_urls: RedisUrls, state_dir: Path) -> None:
    with answering(redis_urls, state_dir, on_disk=1) as (proxy, ledger):
        for names in (("c1",), ("c2", "c3")):
            assert [one.id for one in ledger.submit(*map(make_spec, names))] == list(names)
        assert proxy.asked == 2


def test_what_is_not_on_disk_in_time_is_not_accepted_but_may_be_submitted_again(
    redis_urls: RedisUrls, state_dir: Path
) -> None:
    refused = pytest.raises(RedisTimeoutError, match="not on disk")
    with answering(redis_urls, state_dir, on_disk=0) as (_, ledger), refused:
        ledger.submit(make_spec())
    plain = RedisLedger(redis_urls, "test")
    assert [one.id for one in plain.submit(make_spec())] == ["c1"]
    assert len(plain.newest(10)) == 1
