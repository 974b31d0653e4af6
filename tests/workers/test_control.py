"""What is cancelled, as a worker hears it: over the control channel, with its heartbeat where it has missed it."""

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.conformance.harness import eventually
from tests.conformance.ledgers import RedisWorld, claimed, commit_steps, submitted
from tests.conversation_steps import asks, run_python
from tests.system.network import network_to
from tests.system.servers import RedisServer

from skillfleet.conversations.moves import DeadlinePassed, Submitted
from skillfleet_workers.control import ControlChannel
from skillfleet_workers.heartbeat import Heartbeat
from skillfleet_workers.runtimes.base import RunRequest
from skillfleet_workers.runtimes.process import ProcessRuntime
from skillfleet_workers.tasks import CallRunner
from skillfleet_workers.tools import CallContext
from skillfleet_workers.wire.calls import CallLedger
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.contract import RUN_PYTHON, CallMessage, CallRef, RunPythonScript
from skillfleet_workers.wire.execution import ScriptExecution
from skillfleet_workers.wire.keys import FleetKeys

NEVER_S = 3600.0
PATIENCE_S = 60.0
CALL = CallRef(conversation_id="c1", turn=1, index=0)
CHANNEL = FleetKeys("test").control
DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
    time.sleep(600)
time.sleep(600)
"""


def one_call_out(urls: RedisUrls, name: str = "c1") -> RedisWorld:
    world = RedisWorld(urls)
    submitted(world, name)
    commit_steps(world, claimed(world, name), Submitted(), asks(run_python()), due_in=0)
    return world


@contextmanager
def listening(urls: RedisUrls, call_off: Callable[[str], None]) -> Iterator[ControlChannel]:
    """A channel that is heard already."""
    heard: set[str] = set()

    def note(name: str) -> None:
        heard.add(name)
        call_off(name)

    with urls.client() as client, closing(ControlChannel(client, CHANNEL, note)) as control:
        control.start()
        assert eventually(lambda: bool(client.publish(CHANNEL, "nobody's")) and "nobody's" in heard)
        yield control


@pytest.fixture
def deaf(redis_urls: RedisUrls) -> Iterator[Heartbeat]:
    """A heartbeat that never asks."""
    with redis_urls.client() as client, closing(Heartbeat(CallLedger(client), every_s=NEVER_S)) as heartbeat:
        heartbeat.start()
        yield heartbeat


def test_a_cancellation_is_heard_without_the_heartbeat_and_by_its_own_calls_only(
    redis_urls: RedisUrls, deaf: Heartbeat
) -> None:
    world = one_call_out(redis_urls)
    other = CallRef(conversation_id="c2", turn=1, index=0)
    with listening(redis_urls, deaf.call_off), deaf.running(CALL) as cancelled, deaf.running(other) as untouched:
        assert not cancelled.is_set()
        world.ledger.cancel("c1")
        assert cancelled.wait(PATIENCE_S)
        assert not untouched.is_set()


def test_an_expiry_is_heard_without_the_heartbeat(redis_urls: RedisUrls, deaf: Heartbeat) -> None:
    world = one_call_out(redis_urls)
    with listening(redis_urls, deaf.call_off), deaf.running(CALL) as cancelled:
        commit_steps(world, claimed(world), DeadlinePassed())
        assert cancelled.wait(PATIENCE_S)


def test_a_call_that_begins_just_after_it_was_called_off_is_cancelled_from_the_start(
    redis_urls: RedisUrls, deaf: Heartbeat
) -> None:
    deaf.call_off("c1")
    with deaf.running(CALL) as cancelled:
        assert cancelled.is_set()
    with deaf.running(CallRef(conversation_id="c2", turn=1, index=0)) as wanted:
        assert not wanted.is_set()


def test_the_heartbeat_alone_finds_it_too(redis_urls: RedisUrls) -> None:
    world = one_call_out(redis_urls)
    assert world.calls.claim(CALL, "w1") == "claimed"
    with (
        redis_urls.client() as client,
        closing(Heartbeat(CallLedger(client), every_s=0.02)) as heartbeat,
        heartbeat.running(CALL) as cancelled,
    ):
        heartbeat.start()
        assert not cancelled.is_set()
        world.ledger.cancel("c1")
        assert cancelled.wait(PATIENCE_S)


def test_a_script_and_its_daemons_die_of_the_channel_alone(
    redis_urls: RedisUrls, deaf: Heartbeat, tmp_path: Path
) -> None:
    world = one_call_out(redis_urls)
    with closing(ProcessRuntime(tmp_path)) as runtime, listening(redis_urls, deaf.call_off):
        flight = call_in_flight(CallRunner(world.calls, deaf, "w1"), runtime, tmp_path)
        assert eventually(lambda: len(living(tmp_path)) == 3 or flight.done())
        assert not flight.done(), flight.result()
        world.ledger.cancel("c1")
        done = flight.result(PATIENCE_S)
        assert living(tmp_path) == []
    assert done["status"] == "cancelled"


def call_in_flight(runner: CallRunner, runtime: ProcessRuntime, folder: Path) -> "Future[dict[str, Any]]":
    environment = {"PATH": "/usr/bin:/bin", "FOLDER": str(folder)}

    def tool(request: RunPythonScript, context: CallContext) -> ScriptExecution:
        python = Path(sys.executable)
        return runtime.run(
            RunRequest("lab", folder, python, request.script, environment, 600, cancelled=context.cancelled)
        )

    request = {"skill_name": "lab", "script": DAEMON}
    pool = ThreadPoolExecutor(1)
    flight = pool.submit(runner.run, RUN_PYTHON, tool, CallMessage(ref=CALL, request=request))
    pool.shutdown(wait=False)
    return flight


def living(folder: Path) -> list[int]:
    """Processes of scripts that were given this folder."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get("FOLDER") == str(folder) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found


def test_it_hears_again_after_its_connection_was_cut(redis_urls: RedisUrls) -> None:
    heard: set[str] = set()
    world = one_call_out(redis_urls)
    with listening(redis_urls, heard.add):
        assert world.client.client_kill_filter(_type="pubsub") > 0
        assert eventually(lambda: world.ledger.cancel("c1") and "c1" in heard)


def test_it_hears_again_after_redis_was_killed_and_came_back(
    state_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    heard: set[str] = set()
    with RedisServer(state_dir / "redis") as server:
        urls = RedisUrls(server.url)
        with listening(urls, heard.add):
            server.kill()
            assert eventually(lambda: "cannot hear" in caplog.text)
            server.start()
            world = one_call_out(urls)
            assert eventually(lambda: world.ledger.cancel("c1") and "c1" in heard)


def test_it_hears_again_after_its_connection_fell_silent(state_dir: Path) -> None:
    heard: set[str] = set()
    with RedisServer(state_dir / "redis") as server, network_to(server.port) as network:
        world = one_call_out(RedisUrls(server.url))
        channel = FleetKeys("test").control
        with listening(RedisUrls(f"redis://127.0.0.1:{network.port}/0"), heard.add):
            assert eventually(lambda: world.client.pubsub_numsub(channel)[0][1] == 2)
            network.dead = True
            assert eventually(lambda: network.swallowed > 0)
            network.dead = False
            assert eventually(lambda: world.ledger.cancel("c1") and "c1" in heard)


def test_it_ends_while_redis_is_gone(state_dir: Path) -> None:
    with RedisServer(state_dir / "redis") as server, listening(RedisUrls(server.url), print) as control:
        server.kill()
        control.close()
        assert "control" not in {thread.name for thread in threading.enumerate()}
