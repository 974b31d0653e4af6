"""What becomes of running calls when their worker is asked to end."""

import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.system.fleet import wait_for
from tests.system.replies import Held, call, holding
from tests.system.standing_fleet import StandingFleet, code_of, standing_fleet

from skillfleet.conversations.runs import ToolRun
from skillfleet.fleet import Fleet
from skillfleet_workers.watchdog import STALLED_EXIT
from skillfleet_workers.wire import keys
from skillfleet_workers.wire.connection import RedisUrls

UNSAFE = "---\nname: lab\ndescription: Tries.\nmetadata:\n  skillfleet:\n    effects: unsafe\n---\n"
ROOT = Path(__file__).parents[2]
IDEMPOTENT = UNSAFE.replace("unsafe", "idempotent")
FOR_EVER = "600"


@pytest.fixture(scope="module")
def standing() -> Iterator[StandingFleet]:
    """An orchestrator, and no worker."""
    with (
        tempfile.TemporaryDirectory(prefix="sf-", dir="/tmp") as folder,
        standing_fleet(Path(folder)) as fleet,
    ):
        fleet.orchestrator()
        (fleet.place.skills / "lab" / "SKILL.md").write_text(IDEMPOTENT)
        yield fleet


@pytest.fixture(autouse=True)
def no_worker_is_left(standing: StandingFleet) -> Iterator[None]:
    yield
    standing.end("worker")


def only_run(fleet: Fleet, name: str) -> ToolRun:
    (run,) = fleet.transcript(name).runs
    return run


def kinds(fleet: Fleet, name: str) -> list[str]:
    return [entry.type for entry in fleet.follow(name) if entry and not entry.live and entry.data.get("key") == "1.0"]


def test_a_script_that_ends_within_the_grace_time_keeps_its_result(standing: StandingFleet) -> None:
    held, worker = Held(), standing.worker(FOR_EVER)
    with standing.place.fleet() as fleet:
        name = fleet.submit("Wait.", model=standing.place.script([holding(held, "a")], "${a.stdout}"))
        wait_for(held.runs, "the script runs")
        worker.send_signal(signal.SIGTERM)
        wait_for(lambda: standing.heard_its_end(worker), "the worker has heard it")
        assert held.process().is_running()
        held.let_go()
        assert fleet.result(name).answer == "holding\nlet go"
        run = only_run(fleet, name)
    assert code_of(worker) == 0
    assert (run.status, run.ref.attempt, run.losses) == ("succeeded", 1, 0)


def test_a_script_that_outlasts_the_grace_time_is_ended_and_run_again_elsewhere(standing: StandingFleet) -> None:
    held, worker = Held(), standing.worker("1")
    with standing.place.fleet() as fleet:
        name = fleet.submit("Wait.", model=standing.place.script([holding(held, "a")], "${a.stdout}"))
        wait_for(held.runs, "the script runs")
        first = held.process()
        worker.send_signal(signal.SIGTERM)
        assert code_of(worker) == 0
        assert not first.is_running()
        standing.worker(FOR_EVER)
        wait_for(held.runs, "it runs again")
        held.let_go()
        assert fleet.result(name).answer == "holding\nlet go"
        run, told = only_run(fleet, name), kinds(fleet, name)
    assert (run.status, run.ref.attempt, run.losses) == ("succeeded", 2, 0)
    assert told == ["call", "started", "returned", "call", "started", "result"]


def test_a_script_that_must_not_be_repeated_is_told_to_the_model(standing: StandingFleet) -> None:
    held, skill = Held(), standing.place.skills / "lab" / "SKILL.md"
    skill.write_text(UNSAFE)
    try:
        worker = standing.worker("0")
        with standing.place.fleet() as fleet:
            name = fleet.submit("Wait.", model=standing.place.script([holding(held, "a")], "${a.error}"))
            wait_for(held.runs, "the script runs")
            worker.send_signal(signal.SIGTERM)
            assert fleet.result(name).answer == "worker_lost"
            run = only_run(fleet, name)
        assert code_of(worker) == 0
        assert (run.status, run.ref.attempt) == ("lost", 1)
    finally:
        skill.write_text(IDEMPOTENT)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_hands_back_at_once(standing: StandingFleet, number: signal.Signals) -> None:
    held, worker = Held(), standing.worker(FOR_EVER)
    with standing.place.fleet() as fleet:
        name = fleet.submit("Wait.", model=standing.place.script([holding(held, "a")], "${a.stdout}"))
        wait_for(held.runs, "the script runs")
        script = held.process()
        worker.send_signal(number)
        wait_for(lambda: standing.heard_its_end(worker), "the worker has heard it")
        assert script.is_running()
        worker.send_signal(number)
        assert code_of(worker) == 0
        assert not script.is_running()
        assert fleet.status(name).status == "running"
        fleet.cancel(name)


def test_a_call_that_comes_to_a_worker_in_its_last_read_is_put_back_for_others(standing: StandingFleet) -> None:
    held, worker = Held(), standing.worker(FOR_EVER, concurrency=2)
    queue = keys.task_queue(standing.place.settings.fleet)
    with standing.place.fleet() as fleet, RedisUrls.of(standing.place.settings).client(broker=True) as broker:
        waiting = fleet.submit("Wait.", model=standing.place.script([holding(held)], "Never said."))
        wait_for(held.runs, "the script runs")
        worker.send_signal(signal.SIGTERM)
        wait_for(lambda: standing.heard_its_end(worker), "the worker has heard it")
        name = fleet.submit("List.", model=standing.place.script([call("list_skills")], "Listed."))
        wait_for(lambda: broker.llen(queue) == 1, "the call waits for another worker")
        assert only_run(fleet, name).sends == 1
        assert held.process().is_running()
        standing.worker(FOR_EVER)
        assert fleet.result(name).answer == "Listed."
        fleet.cancel(waiting)


def test_a_worker_that_takes_no_calls_ends_itself_so_that_it_is_started_again(standing: StandingFleet) -> None:
    deaf = standing.start("tests.system.deaf_worker", "1", PYTHONPATH=str(ROOT))
    with standing.place.fleet() as fleet:
        name = fleet.submit("List.", model=standing.place.script([call("list_skills")], "Listed."))
        assert code_of(deaf) == STALLED_EXIT
        standing.worker()
        assert fleet.result(name).answer == "Listed."


def test_calls_that_wait_while_a_worker_ends_do_not_cut_its_grace_time_short(standing: StandingFleet) -> None:
    held, settings = Held(), {"SKILLFLEET_WORKER_CONCURRENCY": "2", "SKILLFLEET_GRACE_SECONDS": FOR_EVER}
    ending = standing.start("tests.system.deaf_worker", "3", "hears", PYTHONPATH=str(ROOT), **settings)
    with standing.place.fleet() as fleet:
        waiting = fleet.submit("Wait.", model=standing.place.script([holding(held)], "Never said."))
        wait_for(held.runs, "the script runs")
        ending.send_signal(signal.SIGTERM)
        name = fleet.submit("List.", model=standing.place.script([call("list_skills")], "Listed."))
        with pytest.raises(psutil.TimeoutExpired):
            held.process().wait(8)
        standing.worker()
        assert fleet.result(name).answer == "Listed."
        fleet.cancel(waiting)
    assert code_of(ending) == 0
