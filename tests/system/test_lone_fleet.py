"""`submit` with nothing running: a fleet of its own, of which nothing is left, however it ends."""

import signal

import psutil
import pytest
from tests.system.fleet import Place, interrupt, wait_for
from tests.system.replies import Held, holding, python

from skillfleet.errors import NoFleetError

ANSWERING = ([python("print(6 * 7)", "six")], "It is ${six.stdout}.")


def started_script(held: Held) -> psutil.Process:
    wait_for(held.runs, "the script runs")
    return held.process()


def statuses(place: Place) -> list[str]:
    with place.fleet() as fleet:
        return [report.status for report in fleet.list()]


def test_submit_answers_and_leaves_nothing_behind(place: Place) -> None:
    done = place.cli("submit", "--model", place.script(*ANSWERING), "How much is 6 * 7?")

    assert (done.returncode, done.stdout, done.stderr) == (0, "It is 42.\n", "")
    assert not place.living()
    assert not place.socket.exists()
    assert statuses(place) == ["completed"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_submit_cancels_its_conversation_and_kills_its_script(
    place: Place, number: signal.Signals
) -> None:
    held = Held()
    model = place.script([holding(held)], "Never said.")
    submit = place.start("submit", "--model", model, "Wait.")
    script = started_script(held)

    assert interrupt(submit, number) == 130
    assert not script.is_running()
    assert not place.living()
    assert place.log("submit").startswith("skillfleet: cancelled ")
    assert statuses(place) == ["cancelled"]


def test_when_submit_is_killed_its_worker_and_its_script_end_and_the_conversation_is_kept(place: Place) -> None:
    """Redis stays: nobody is left to stop it, and it holds what was accepted."""
    held = Held()
    model = place.script([holding(held)], "Never said.")
    submit = place.start("submit", "--model", model, "Wait.")
    script = started_script(held)
    (worker,) = place.commands("worker")

    assert interrupt(submit, signal.SIGKILL) == -signal.SIGKILL
    wait_for(lambda: not script.is_running() and not worker.is_running(), "worker and script end")
    assert all("redis-server" in process.cmdline()[0] for process in place.living())
    assert statuses(place) == ["running"]
    wait_for(lambda: not place.living(), "the next one out stops redis")


def test_two_lone_submits_share_a_state_folder_and_the_last_one_out_stops_redis(place: Place) -> None:
    held = Held()
    longer = place.start("submit", "--model", place.script([holding(held, "a")], "${a.stdout}"), "Wait.")
    wait_for(held.runs, "the first one's script runs")
    shorter = place.cli("submit", "--model", place.script(*ANSWERING), "How much is 6 * 7?")
    held.let_go()

    assert (shorter.returncode, shorter.stdout, shorter.stderr) == (0, "It is 42.\n", "")
    answer, _ = longer.communicate(timeout=90)
    assert (longer.returncode, answer) == (0, "holding\nlet go\n")
    assert not place.living()
    assert not place.socket.exists()
    assert statuses(place) == ["completed", "completed"]


def test_detach_needs_a_fleet_that_outlives_the_command(place: Place) -> None:
    done = place.cli("submit", "--detach", "--model", place.script("Never said."), "Stay.")
    assert (done.returncode, done.stdout) == (3, "")
    assert "skillfleet up" in done.stderr
    assert not place.living()
    assert statuses(place) == []


def test_what_ended_is_read_with_nothing_running_and_redis_is_stopped_again(place: Place) -> None:
    place.cli("submit", "--model", place.script(*ANSWERING), "How much is 6 * 7?")
    with place.fleet() as fleet:
        (report,) = fleet.list()

    listed = place.cli("list")
    assert (listed.returncode, report.id in listed.stdout) == (0, True)
    status = place.cli("status", report.id)
    assert (status.returncode, "run_python_script" in status.stdout) == (0, True)
    result = place.cli("result", report.id)
    assert (result.returncode, result.stdout) == (0, "It is 42.\n")
    followed = place.cli("follow", report.id)
    assert (followed.returncode, "run_python_script" in followed.stderr) == (0, True)
    cancelled = place.cli("cancel", report.id)
    assert (cancelled.returncode, "had ended already" in cancelled.stdout) == (0, True)
    assert not place.living()


def test_a_worker_that_does_not_tell_of_its_skills_in_time_is_named_with_its_log(place: Place) -> None:
    with (
        place.fleet() as fleet,
        pytest.raises(NoFleetError, match=r"our own worker has not told .*/worker\.log says"),
    ):
        fleet._access.skills(detach=False, own_patience_s=0.0)
    assert not place.living()
