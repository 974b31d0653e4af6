"""A conversation that ends while its script runs: nothing of the script lives on, daemons included."""

import json
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from tests.system.conftest import Shared
from tests.system.fleet import Place, interrupt, running_fleet, wait_for
from tests.system.replies import python
from tests.system.servers import RedisServer

from skillfleet.fleet import Fleet


def spawning(name: str) -> str:
    """A script that goes by this name, with a child and a daemon in sessions of their own that do so too."""
    return f"""
import ctypes, os, time
ctypes.CDLL(None).prctl(15, {name.encode()!r})
if os.fork() == 0:
    os.setsid()
    os.fork()
time.sleep(900)
"""


SPAWNED = 3


def living(name: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess):
            if process.name() == name and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


@pytest.fixture
def name() -> Iterator[str]:
    """Of one test's processes: none may be left."""
    name = f"sf-{secrets.token_hex(4)}"
    yield name
    left = living(name)
    for process in left:
        process.kill()
    assert not left


def model(place: Place, name: str) -> str:
    return place.script([python(spawning(name), timeout=900)], "Never said.")


def running(fleet: Fleet, place: Place, name: str) -> str:
    """A conversation whose script and its daemons live."""
    conversation = fleet.submit("Wait.", model=model(place, name))
    wait_for(lambda: len(living(name)) == SPAWNED, "the script and its daemons live")
    assert fleet.status(conversation).status == "running"
    return conversation


def test_a_cancelled_conversation_leaves_no_process_of_its_script_on_its_worker(shared: Shared, name: str) -> None:
    with shared.place.fleet() as fleet:
        conversation = running(fleet, shared.place, name)
        cancelled = shared.place.cli("cancel", conversation)
        assert (cancelled.returncode, cancelled.stderr) == (0, "")
        wait_for(lambda: not living(name), "all of the script is dead")
        report = fleet.result(conversation)
        assert (report.status, [call.status for call in report.tool_calls]) == ("cancelled", ["cancelled"])
        seen = [entry for entry in fleet.follow(conversation) if entry]
    assert [entry.type for entry in seen][-4:] == ["started", "message", "result", "ended"]
    assert seen[-2].data["status"] == "cancelled"
    assert shared.place.cli("result", conversation).returncode == 1


def test_a_conversation_that_reaches_its_time_limit_leaves_no_process_of_its_script(
    shared: Shared, name: str
) -> None:
    submit = shared.place.start("submit", "--timeout", "15", "--model", model(shared.place, name), "Wait.")
    wait_for(lambda: len(living(name)) == SPAWNED, "the script and its daemons live")
    with submit:
        assert submit.wait(60) == 4
    wait_for(lambda: not living(name), "all of the script is dead")
    with shared.place.fleet() as fleet:
        report = fleet.list(1)[0]
    assert (report.status, [call.status for call in report.tool_calls]) == ("expired", ["cancelled"])


def test_a_script_is_cancelled_after_redis_was_killed_and_came_back_while_it_ran(place: Place, name: str) -> None:
    with RedisServer(place.folder / "redis") as server:
        place.variables["SKILLFLEET_REDIS_URL"] = server.url
        with running_fleet(place, workers=2), place.fleet() as fleet:
            conversation = running(fleet, place, name)
            server.kill()
            server.start()
            assert len(living(name)) == SPAWNED
            assert place.cli("cancel", conversation).returncode == 0
            wait_for(lambda: not living(name), "all of the script is dead")
            assert fleet.result(conversation).status == "cancelled"


def test_a_script_is_cancelled_while_every_slot_waits_for_a_model(place: Place, name: str) -> None:
    with RedisServer(place.folder / "redis") as server:
        place.variables["SKILLFLEET_REDIS_URL"] = server.url
        with running_fleet(place, workers=1, env={"SKILLFLEET_SLOTS": "1"}), place.fleet() as fleet:
            conversation = running(fleet, place, name)
            thinking = fleet.submit("Think.", model=slow_model(place.folder))
            wait_for(lambda: fleet.status(thinking).status == "running", "the only slot asks a model")
            fleet.cancel(conversation)
            wait_for(lambda: not living(name), "all of the script is dead")
            assert fleet.status(thinking).status == "running"
            fleet.cancel(thinking)
            assert [fleet.result(one).status for one in (thinking, conversation)] == ["cancelled"] * 2


def slow_model(folder: Path) -> str:
    path = folder / "slow.json"
    path.write_text(json.dumps({"replies": [{"text": "Never said.", "delay_s": 900}]}))
    return f"scripted:{path}"


def test_ctrl_c_of_a_lone_submit_leaves_no_process_of_its_script(place: Place, name: str) -> None:
    submit = place.start("submit", "--model", model(place, name), "Wait.")
    wait_for(lambda: len(living(name)) == SPAWNED, "the script and its daemons live")
    assert interrupt(submit) == 130
    assert not living(name)
    assert not place.living()
    with place.fleet() as fleet:
        assert [report.status for report in fleet.list()] == ["cancelled"]
