"""Whatever interrupts a fleet of one's own, at whatever moment: nothing is left, and nothing goes on later."""

import json
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from tests.system.fleet import PATIENCE_S, Place, interrupt, wait_for
from tests.system.replies import Held, holding, python
from tests.system.test_lone_fleet import started_script, statuses

from skillfleet.errors import FleetError

SIGNALLED_IN_A_FINALIZER = """
import os, signal, sys, weakref
from skillfleet.cli import main
from skillfleet.fleet import Fleet

class Gone:
    pass

def submits(self, *arguments, accept=Fleet.submit, **options):
    gone = Gone()
    weakref.finalize(gone, os.kill, os.getpid(), signal.SIGINT)
    name = accept(self, *arguments, **options)
    del gone
    return name

Fleet.submit = submits
sys.exit(main())
"""


def test_a_closed_terminal_ends_submit_and_all_that_it_started(place: Place) -> None:
    held = Held()
    submit = place.start("submit", "--model", place.script([holding(held)], "Never said."), "Wait.")
    script = started_script(held)

    assert interrupt(submit, signal.SIGHUP) == 130
    assert not script.is_running()
    assert not place.living()
    assert statuses(place) == ["cancelled"]


def test_a_closed_terminal_ends_up_and_its_redis(place: Place) -> None:
    up = place.start("up", "--no-flower")
    wait_for(lambda: len(place.commands("worker")) == 1 and place.socket.exists(), "the fleet is there")

    assert interrupt(up, signal.SIGHUP) == 0
    assert not place.living()


@pytest.mark.parametrize("moment", ["redis/server-version", "redis/redis.sock", "worker.log"])
def test_ctrl_c_while_it_starts_leaves_no_process(place: Place, moment: str) -> None:
    held = Held()
    submit = place.start("submit", "--model", place.script([holding(held)], "Never said."), "Wait.")
    wait_for((place.state_dir / moment).exists, "it has come that far")

    assert interrupt(submit) == 130
    assert not place.living()
    assert set(statuses(place)) <= {"cancelled"}


def test_ctrl_c_at_any_line_of_starting_and_ending_leaves_no_process(place: Place) -> None:
    script = place.script([holding(Held())], "Never said.")
    told = subprocess.run(
        [sys.executable, "-m", "tests.system.interrupted_fleet", str(place.folder), script, "24"],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=150, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    left = json.loads(told.stdout)
    assert len(left) > 20
    assert not any(left.values()), left


def test_a_follower_told_to_end_stops_the_redis_that_nobody_else_uses(place: Place) -> None:
    held = Held()
    up = place.start("up", "--no-flower")
    wait_for(place.socket.exists, "redis is there")
    with place.fleet() as fleet:
        wait_for(lambda: len(fleet.running()) == 3, "the fleet is there")
        name = fleet.submit("Wait.", model=place.script([holding(held)], "Never said."), detach=True)
    wait_for(held.runs, "the script has started")
    follow = place.start("follow", name)
    wait_for(lambda: "run_python_script" in place.log("follow"), "it follows")

    fleet_of_up = (*place.commands("orchestrator"), *place.commands("worker"))
    up.kill()
    for process in fleet_of_up:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    up.communicate()
    assert place.commands("redis-server")
    assert interrupt(follow, signal.SIGTERM) == 130
    wait_for(lambda: not place.living(), "nothing is left")


def test_a_second_ctrl_c_leaves_no_process_either(place: Place) -> None:
    held = Held()
    submit = place.start("submit", "--model", place.script([holding(held)], "Never said."), "Wait.")
    script = started_script(held)
    submit.send_signal(signal.SIGINT)

    assert interrupt(submit) == 130
    wait_for(lambda: not script.is_running(), "the script ends")
    assert not place.commands("worker")
    place.cli("list")
    wait_for(lambda: not place.living(), "nothing is left")


def test_a_conversation_that_its_caller_walks_away_from_is_cancelled(place: Place) -> None:
    held = Held()
    with place.fleet() as fleet:
        name = fleet.submit("Wait.", model=place.script([holding(held)], "Never said."))
        script = started_script(held)
    assert not script.is_running()
    with place.fleet() as fleet:
        assert fleet.status(name).status == "cancelled"


def test_one_fleet_object_can_be_opened_again(place: Place) -> None:
    fleet = place.fleet()
    for _ in range(2):
        with fleet:
            name = fleet.submit("6 * 7?", model=place.script([python("print(6 * 7)", "six")], "${six.stdout}"))
            assert fleet.result(name).answer == "42"
    assert not place.living()


def test_a_fleet_that_is_not_open_says_how_to_open_it(place: Place) -> None:
    with pytest.raises(FleetError, match="with Fleet"):
        place.fleet().list()


def test_conversations_of_one_fleet_leave_no_threads_behind(place: Place) -> None:
    with place.fleet() as fleet:
        fleet.result(fleet.submit("Say it.", model=place.script("Said.")))
        before = threading.active_count()
        for _ in range(10):
            fleet.result(fleet.submit("Say it.", model=place.script("Said.")))
        wait_for(lambda: threading.active_count() <= before, "as many threads as before")


def test_a_ctrl_c_that_python_itself_drops_is_heeded_all_the_same(place: Place) -> None:
    model = place.script([holding(Held())], "Never said.")
    done = subprocess.run(
        [sys.executable, "-c", SIGNALLED_IN_A_FINALIZER, "submit", "--model", model, "Wait."],
        cwd=place.folder, env=place.environment(), capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert "Exception ignored" in done.stderr
    assert done.returncode == 130
    assert not place.living()
    assert statuses(place) == ["cancelled"]


def test_a_batch_on_a_fleet_of_its_own_goes_on_where_it_was_interrupted(place: Place) -> None:
    lines = place.folder / "batch.jsonl"
    lines.write_text("".join(json.dumps({"prompt": f"Number {number}?"}) + "\n" for number in range(12)))
    nap = python("import time; time.sleep(0.5); print('slept')", "nap")
    arguments = ("submit", "--batch", str(lines), "--model", place.script([nap], "I ${nap.stdout}."))
    submit = place.start(*arguments, env={"SKILLFLEET_WORKER_CONCURRENCY": "2"})
    wait_for(lambda: "completed" in statuses(place), "one of them has ended")

    assert interrupt(submit, signal.SIGTERM) == 130
    assert not place.living()
    assert {"completed"} < set(statuses(place)) <= {"completed", "queued", "running"}
    assert place.cli(*arguments).returncode == 0
    assert statuses(place) == ["completed"] * 12
