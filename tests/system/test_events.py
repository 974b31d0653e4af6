"""The events from which Flower shows the calls: an end is told, whatever happens to its worker or to redis."""

import base64
import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from tests.system.fleet import Place, running_fleet, wait_for
from tests.system.replies import Held, holding
from tests.system.servers import RedisServer
from tests.system.test_lone_fleet import started_script


@dataclass(frozen=True, slots=True)
class Waiting:
    """A fleet of one worker whose one call runs until it may end."""

    redis: RedisServer
    worker: "subprocess.Popen[str]"
    script: psutil.Process
    end: Callable[[], None]


@pytest.fixture
def waiting(tmp_path: Path, state_dir: Path) -> Iterator[Waiting]:
    held = Held()
    with RedisServer(tmp_path / "redis") as server:
        place = Place(state_dir, {"SKILLFLEET_REDIS_URL": server.url})
        with running_fleet(place, workers=1) as (_, worker):
            with place.fleet() as fleet:
                fleet.submit("Wait.", model=place.script([holding(held)], "Done."), detach=True)
            yield Waiting(server, worker, started_script(held), held.let_go)


def test_a_call_that_ends_while_its_worker_stops_is_told(waiting: Waiting) -> None:
    ear = Ear(waiting.redis)
    waiting.worker.send_signal(signal.SIGTERM)
    wait_for(lambda: ear.hears("worker-offline"), "the worker takes nothing more")
    assert waiting.script.is_running()
    waiting.end()
    wait_for(lambda: ear.hears("task-succeeded"), "the end is told")


def test_a_call_that_ends_while_redis_is_away_is_told(waiting: Waiting) -> None:
    waiting.redis.kill()
    waiting.end()
    wait_for(lambda: not waiting.script.is_running(), "the script has ended")
    waiting.redis.start()
    ear = Ear(waiting.redis)
    wait_for(lambda: ear.hears("task-succeeded"), "the end is told")


class Ear:
    """Listens as Flower does."""

    def __init__(self, server: RedisServer) -> None:
        self._subscription = server.client().pubsub(ignore_subscribe_messages=True)  # type: ignore[no-untyped-call]
        self._subscription.psubscribe("*celeryev*")

    def hears(self, kind: str) -> bool:
        """Whether the next message tells of such an event."""
        message = self._subscription.get_message(timeout=0.1)
        if message is None:
            return False
        told = json.loads(base64.b64decode(json.loads(message["data"])["body"]))
        return any(event["type"] == kind for event in (told if isinstance(told, list) else [told]))
