"""`up`: a whole fleet in the foreground, found by submits from other shells, mended when a part of it dies."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest
from tests.system.fleet import Place, interrupt, wait_for
from tests.system.replies import Held, call, holding, python
from tests.system.test_lone_fleet import started_script

from skillfleet.conversations.models import TERMINAL
from skillfleet.conversations.report import Report
from skillfleet.fleet import Fleet
from skillfleet_workers.wire.presence import LiveProcess


@contextmanager
def up(place: Place, *, workers: int) -> Iterator[Fleet]:
    """The fleet from the Python side, once all of it is there; ended with SIGINT, as Ctrl-C does."""
    env = {"SKILLFLEET_WORKER_CONCURRENCY": "1", "SKILLFLEET_GRACE_SECONDS": "1"}
    running = place.start("up", "--no-flower", "--workers", str(workers), env=env)
    try:
        wait_for(lambda: place.socket.exists() or running.poll() is not None, "redis runs")
        assert running.poll() is None, place.log("up")
        with place.fleet() as fleet:
            wait_for(lambda: len(fleet.running()) == 2 + workers, "up has started all of it")
            yield fleet
    finally:
        code = interrupt(running)
    assert code == 0, place.log("up")
    assert not place.living()


def workers(fleet: Fleet) -> tuple[LiveProcess, ...]:
    return fleet.running("worker")


def test_a_submit_from_another_shell_uses_the_fleet_that_runs(place: Place) -> None:
    model = place.script([python("print(6 * 7)", "six")], "It is ${six.stdout}.")
    with up(place, workers=2) as fleet:
        names = {worker.name for worker in workers(fleet)}
        answered = place.cli("submit", "--model", model, "How much is 6 * 7?")
        (report,) = fleet.list()

        assert (answered.returncode, answered.stdout) == (0, "It is 42.\n")
        assert {call.worker for call in report.tool_calls} <= names
        assert len(place.commands("worker")) == len(names) == 2


def test_a_detached_submit_prints_the_id_under_which_the_answer_is_found(place: Place) -> None:
    model = place.script([python("print(6 * 7)", "six")], "It is ${six.stdout}.")
    with up(place, workers=1):
        detached = place.cli("submit", "--detach", "--model", model, "How much is 6 * 7?")
        result = place.cli("result", detached.stdout.strip())

    assert (detached.returncode, detached.stderr) == (0, "")
    assert (result.returncode, result.stdout) == (0, "It is 42.\n")


def test_ctrl_c_in_a_follower_leaves_the_conversation_to_its_fleet(place: Place) -> None:
    held = Held()
    model = place.script([holding(held, "a")], "${a.stdout}")
    with up(place, workers=1) as fleet:
        submit = place.start("submit", "--model", model, "Wait.")
        wait_for(held.runs, "the script runs")
        (name,) = (report.id for report in fleet.list())

        assert interrupt(submit) == 130
        assert name in place.log("submit")
        assert fleet.status(name).status == "running"
        held.let_go()
        assert fleet.result(name).answer == "holding\nlet go"


def test_up_starts_a_killed_worker_again_and_the_conversation_goes_on(place: Place) -> None:
    held = Held()
    model = place.script([holding(held, "lost")], [call("list_skills")], "${lost.error}")
    unsafe = "---\nname: lab\ndescription: Tries.\nmetadata:\n  skillfleet:\n    effects: unsafe\n---\n"
    (place.skills / "lab" / "SKILL.md").write_text(unsafe)  # else it is run again
    with up(place, workers=1) as fleet:
        name = fleet.submit("Wait.", model=model)
        script = started_script(held)
        (victim,) = workers(fleet)
        assert script.is_running()
        psutil.Process(victim.pid).send_signal(signal.SIGKILL)
        report = fleet.result(name)

        assert not script.is_running()
        assert report.answer == "worker_lost"
        assert [(made.name, made.status) for made in report.tool_calls] == [
            ("run_python_script", "lost"),
            ("list_skills", "succeeded"),
        ]
        assert report.tool_calls[1].worker != victim.name
        assert "worker 1 had died and is started again" in place.log("up")


def test_ctrl_c_ends_up_and_all_that_runs_on_it(place: Place) -> None:
    held = Held()
    model = place.script([holding(held)], "Never said.")
    with up(place, workers=1) as fleet:
        name = fleet.submit("Wait.", model=model)
        script = started_script(held)
        assert script.is_running()
    assert not script.is_running()
    with place.fleet() as fleet:
        assert fleet.status(name).status == "running"


def test_a_second_ctrl_c_does_not_wait_for_what_runs(place: Place) -> None:
    held = Held()
    running = place.start("up", "--no-flower", env={"SKILLFLEET_GRACE_SECONDS": "600"})
    wait_for(place.socket.exists, "redis runs")
    with place.fleet() as fleet:
        wait_for(lambda: len(fleet.running()) == 3, "up has started all of it")
        name = fleet.submit("Wait.", model=place.script([holding(held)], "Never said."))
        script = started_script(held)
        running.send_signal(signal.SIGINT)
        wait_for(lambda: "is asked to end: 1 calls may finish" in place.log("up"), "the worker has heard it")
        assert script.is_running()
    assert interrupt(running) == 0
    assert not script.is_running()
    with place.fleet() as fleet:
        assert fleet.status(name).status == "running"


@pytest.mark.parametrize("victim", ["orchestrator", "redis-server"])
def test_up_starts_what_was_killed_again_and_a_running_script_keeps_its_result(place: Place, victim: str) -> None:
    held = Held()
    model = place.script([holding(held, "a")], "${a.stdout}")
    with up(place, workers=1) as fleet:
        name = fleet.submit("Wait.", model=model)
        wait_for(held.runs, "the script runs")
        (process,) = place.commands(victim)
        process.kill()
        wait_for(lambda: "had died and is started again" in place.log("up"), "it is started again")
        wait_for(lambda: place.commands(victim), "it is there")
        held.let_go()
        report = wait_for(lambda: ended(place, name), "the conversation has ended")
        assert report and report.answer == "holding\nlet go"


def ended(place: Place, name: str) -> Report | None:
    with place.fleet() as fleet:
        report = fleet.status(name)
    return report if report.status in TERMINAL else None
