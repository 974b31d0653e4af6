"""`skillfleet archiver`, the process: killed at any moment, ended politely, and refused where it cannot work."""

import random
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conformance.ledgers import RedisWorld
from tests.orchestrator.histories import FLEET, counted, lived, settings_of, states, told, written
from tests.system.fleet import Place, interrupt, wait_for
from tests.system.servers import RedisServer

from skillfleet.history.database import open_history
from skillfleet_workers.wire import keys
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.presence import live_processes

CONVERSATIONS = 60
KILLS = 3
UNARCHIVED = keys.FleetKeys(FLEET).unarchived


@pytest.fixture
def server(state_dir: Path) -> Iterator[RedisServer]:
    with RedisServer(state_dir / "redis") as running:
        yield running


@pytest.fixture
def archivers(server: RedisServer, state_dir: Path, history_url: str) -> Iterator[Place]:
    variables = {"SKILLFLEET_REDIS_URL": server.url, "SKILLFLEET_FLEET": FLEET, "SKILLFLEET_HISTORY_URL": history_url}
    place = Place(state_dir, variables)
    try:
        yield place
    finally:
        place.end()


def killed(process: "subprocess.Popen[str]") -> None:
    with process:
        process.kill()


def test_whenever_archivers_are_killed_the_history_equals_the_ledger_in_the_end(
    archivers: Place, server: RedisServer, history_url: str, tmp_path: Path
) -> None:
    urls, chance = RedisUrls(server.url), random.Random(7)
    world, names = RedisWorld(urls), [f"c{number}" for number in range(CONVERSATIONS)]
    kill_at = sorted(chance.sample(range(10, CONVERSATIONS), KILLS))
    running = [archivers.start("archiver") for _ in range(2)]
    for number, name in enumerate(names):
        lived(world, name, calls=chance.randint(1, 3))
        if number in kill_at:
            left = world.client.zcard(UNARCHIVED)
            wait_for(lambda left=left: world.client.zcard(UNARCHIVED) < left, "somebody archives")  # type: ignore[misc]
            killed(running.pop(0))
            running.append(archivers.start("archiver"))
    wait_for(lambda: world.client.zcard(UNARCHIVED) == 0, "all is archived")
    # The newest may only just have begun, and not know yet that it is to end politely.
    alive = {process.pid for process in running}
    wait_for(lambda: {one.pid for one in live_processes(world.client, FLEET)} >= alive, "both say that they live")
    assert [interrupt(process, signal.SIGTERM) for process in running] == [0, 0]
    history = open_history(settings_of(urls, history_url, tmp_path))
    assert states(history) == dict.fromkeys(names, "completed")
    assert written(history) == told(world, *names)
    assert counted(history) == len(written(history))
    history.close()


def test_it_says_on_its_fleet_that_it_lives_until_it_is_asked_to_end(server: RedisServer, state_dir: Path) -> None:
    place = Place(state_dir, {"SKILLFLEET_REDIS_URL": server.url})
    process = place.start("archiver")
    with RedisUrls(server.url).client() as client:

        def roles() -> list[str]:
            return [one.role for one in live_processes(client, "default")]

        wait_for(lambda: roles() == ["archiver"], "it says that it lives")
        assert "nobody writes the history" not in place.cli("doctor").stdout
        assert interrupt(process) == 0
        assert roles() == []


@pytest.mark.parametrize(
    ("url", "code", "line"),
    [("off", 2, "no history is kept"), ("nonsense", 2, "is no URL"), ("sqlite:////proc/none/x.db", 3, "cannot use")],
)
def test_where_there_can_be_no_history_it_says_so_in_one_line(
    server: RedisServer, state_dir: Path, url: str, code: int, line: str
) -> None:
    place = Place(state_dir, {"SKILLFLEET_REDIS_URL": server.url, "SKILLFLEET_HISTORY_URL": url})
    ended = place.cli("archiver")
    assert (ended.returncode, ended.stdout) == (code, "")
    assert line in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_doctor_says_where_the_history_is_and_that_nobody_writes_it(server: RedisServer, state_dir: Path) -> None:
    place = Place(state_dir, {"SKILLFLEET_REDIS_URL": server.url})
    told = place.cli("doctor").stdout
    assert f"history: sqlite:///{place.state_dir}/history.db" in told
    assert "nobody writes the history" in told
    off = place.cli("doctor", env={"SKILLFLEET_HISTORY_URL": "off"}).stdout
    assert "history: is off" in off
    assert "nobody writes the history" not in off
