"""What lives when a run returns: nothing of it, however it ended and whoever died."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from tests.conformance import lone_worker, scripts
from tests.conformance.harness import PATIENCE_S, Bench, eventually
from tests.conformance.living import family, gone
from tests.conformance.table import CONTAINERS, applies
from tests.conformance.wear import containers_of, groups_of, held

from skillfleet_workers.runtimes.cgroups import find_cgroups
from skillfleet_workers.wire.execution import OUTPUT_LIMIT_BYTES, ScriptExecution

ROOT = Path(__file__).parents[2]


@applies("killing")
class TestKilling:
    def test_a_daemon_that_holds_stdout_does_not_hold_the_run(self, bench: Bench) -> None:
        done = bench.run(scripts.DAEMON, timeout_s=60.0)
        assert (done.status, done.stdout, done.leftover_killed) == ("succeeded", "daemon is up\n", 1)
        assert bench.alive() == []

    def test_a_daemon_is_dead_after_the_timeout_of_its_script(self, bench: Bench) -> None:
        done = bench.run(scripts.DAEMON_THEN_SLEEP, timeout_s=2.0)
        assert (done.status, done.timed_out, done.returncode) == ("timed_out", True, 124)
        assert (done.stdout, done.stderr) == ("daemon is up\n", "Timeout: killed after 2 s\n")
        assert done.leftover_killed == 1
        assert bench.alive() == []

    def test_a_script_that_ignores_sigterm_is_dead_after_its_timeout(self, bench: Bench) -> None:
        done = bench.run(scripts.DEAF, timeout_s=1.5)
        assert (done.status, done.stdout) == ("timed_out", "deaf\n")
        assert bench.alive() == []

    def test_a_cancelled_run_keeps_its_output_and_leaves_nothing(self, bench: Bench) -> None:
        cancelled = threading.Event()
        flight = bench.in_flight(scripts.SLEEPER, cancelled=cancelled)
        assert len(bench.up()) == 1
        cancelled.set()
        done = flight.result()
        assert (done.status, done.stdout, done.returncode, done.timed_out) == (
            "cancelled",
            "before\n",
            None,
            False,
        )
        assert bench.alive() == []

    def test_a_process_that_keeps_forking_away_is_caught_every_time(self, bench: Bench) -> None:
        for _ in range(20):
            cancelled = threading.Event()
            flight = bench.in_flight(scripts.RABBIT, cancelled=cancelled)
            cancelled.set()
            assert flight.result().leftover_killed >= 1
            # It hops faster than one look takes.
            assert not any(bench.alive() for _ in range(3))

    def test_a_whole_family_is_killed_and_counted(self, bench: Bench) -> None:
        cancelled = threading.Event()
        flight = bench.in_flight(scripts.FAMILY, cancelled=cancelled)
        assert eventually(lambda: len(bench.up()) == 8)
        cancelled.set()
        assert flight.result().leftover_killed == 7
        assert bench.alive() == []

    def test_a_leftover_is_counted_whatever_its_name(self, bench: Bench) -> None:
        done = bench.run(scripts.ODD_NAME)
        assert (done.status, done.leftover_killed) == ("succeeded", 1)

    def test_a_child_that_the_script_killed_itself_is_no_leftover(self, bench: Bench) -> None:
        dead_but_not_reaped = "os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)"
        done = bench.run(
            f"import os\nif (pid := os.fork()) == 0:\n    os.kill(os.getpid(), 9)\n{dead_but_not_reaped}"
        )
        assert (done.status, done.leftover_killed) == ("succeeded", 0)


def with_its_init_killed(bench: Bench) -> ScriptExecution:
    """What becomes of a run that has started a daemon; other runs may be up."""
    others = set(bench.up("up"))
    flight = bench.in_flight(scripts.DAEMON_THEN_SLEEP)
    assert eventually(lambda: len(bench.up("up")) > len(others))
    (script,) = set(bench.up("up")) - others
    init = psutil.Process(script).parent()
    assert init is not None
    init.kill()
    return flight.result(PATIENCE_S)


@applies("death of a resident")
class TestDeathOfAResident:
    def test_a_run_whose_init_is_killed_is_reported_and_dead_with_all_it_started(self, bench: Bench) -> None:
        done = with_its_init_killed(bench)
        assert (done.status, done.returncode, done.stdout) == ("lost", None, "daemon is up\n")
        assert "supervisor" in (done.error or "")
        assert bench.alive() == []
        assert bench.run("print(1)").stdout == "1\n"

    def test_what_can_be_read_of_a_scripts_parents_holds_no_environment(self, bench: Bench) -> None:
        cancelled = threading.Event()
        flight = bench.in_flight(scripts.SLEEPER, cancelled=cancelled)
        parents = psutil.Process(bench.up()[0]).parents()[:2]
        assert parents[1].pid == bench.resident_pid()
        assert [Path(f"/proc/{process.pid}/environ").read_bytes() for process in parents] == [b"", b""]
        cancelled.set()
        assert flight.result().status == "cancelled"

    def test_a_resident_killed_between_runs_is_started_again(self, bench: Bench) -> None:
        bench.run("")
        old = family(bench.resident_pid())
        assert len(old) >= 2
        os.kill(old[0].pid, signal.SIGKILL)
        assert eventually(lambda: gone(old[:1]))
        assert bench.run("print(1)").stdout == "1\n"
        assert bench.resident_pid() != old[0].pid
        assert eventually(lambda: gone(old))

    def test_a_resident_killed_in_mid_run_harms_no_run(self, bench: Bench) -> None:
        cancelled = threading.Event()
        flight = bench.in_flight(scripts.DAEMON_THEN_SLEEP, cancelled=cancelled)
        old = family(bench.resident_pid())
        assert {process.pid for process in old} >= set(bench.up())
        os.kill(old[0].pid, signal.SIGKILL)
        assert eventually(lambda: gone(old[:1]))
        assert bench.run("print(1)").stdout == "1\n"
        assert not flight.done() and len(bench.up()) == 2
        cancelled.set()
        assert (flight.result().status, flight.result().leftover_killed) == ("cancelled", 1)
        assert bench.alive() == []
        assert eventually(lambda: gone(old))

    def test_a_script_dies_even_when_init_and_resident_are_killed_together(self, bench: Bench) -> None:
        flight = bench.in_flight(scripts.SLEEPER)
        script = psutil.Process(bench.up()[0])
        cancelled = threading.Event()
        neighbour = bench.in_flight(scripts.SLEEPER, cancelled=cancelled)
        assert eventually(lambda: len(bench.up()) == 2)
        supervisors = script.parents()[:2]
        assert supervisors[1].pid == bench.resident_pid()
        for process in reversed(supervisors):
            process.kill()
        assert flight.result(PATIENCE_S).status == "lost"
        assert eventually(lambda: gone([script]))
        assert bench.run("print(1)").stdout == "1\n"
        cancelled.set()
        assert neighbour.result(PATIENCE_S).status == "cancelled"

    def test_the_death_of_one_init_leaves_its_neighbours_alone(self, bench: Bench) -> None:
        cancelled = threading.Event()
        flight = bench.in_flight(scripts.DAEMON_THEN_SLEEP, cancelled=cancelled)
        assert with_its_init_killed(bench).status == "lost"
        assert not flight.done() and len(bench.up()) == 2
        cancelled.set()
        assert flight.result().leftover_killed == 1

    def test_closing_leaves_no_process(self, bench: Bench) -> None:
        bench.run("")
        all_of_it = family(bench.resident_pid())
        bench.runtime.close()
        assert eventually(lambda: gone(all_of_it))


@applies("death of the worker")
def test_nothing_survives_a_worker_killed_in_mid_run(bench: Bench) -> None:
    before = held(bench.folder)
    worker = subprocess.Popen(lone_worker.command("hold", bench, scripts.FAMILY), cwd=ROOT)
    assert eventually(lambda: len(bench.up()) == 8)
    everything = family(worker.pid)
    script = psutil.Process(bench.up("up")[0])
    assert bench.name != "warm" or isinstance(find_cgroups(), str) or groups_of(worker.pid) > 0
    assert bench.name not in CONTAINERS or containers_of(worker.pid) > 0
    worker.kill()
    worker.wait()
    assert eventually(lambda: gone([*everything, script]) and bench.alive() == [])
    assert eventually(lambda: held(bench.folder).mounts <= before.mounts)
    assert eventually(lambda: groups_of(worker.pid) == 0)
    assert bench.name not in CONTAINERS or eventually(lambda: containers_of(worker.pid) == 0)


@applies("flat memory")
def test_two_hundred_megabytes_on_both_streams_cost_little_memory(bench: Bench) -> None:
    command = lone_worker.command("weigh", bench, scripts.BOTH_STREAMS)
    told = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    status, *numbers = told.stdout.split()
    out, err, kept_out, kept_err, grown_kb = map(int, numbers)
    assert (status, out, err) == (b"succeeded", 200_000_000, 200_000_000)
    assert OUTPUT_LIMIT_BYTES < kept_out == kept_err < OUTPUT_LIMIT_BYTES + 100
    assert grown_kb < 100_000


@applies("many runs")
class TestManyRuns:
    def test_runs_side_by_side_do_not_mix(self, bench: Bench) -> None:
        script = "import sys, os; print(sys.argv[1] * 50_000); print(sys.argv[1], file=sys.stderr)"
        with ThreadPoolExecutor(8) as threads:
            runs = {n: threads.submit(bench.run, script, arguments=(f"<{n}>",)) for n in range(48)}
        for number, run in runs.items():
            done = run.result()
            assert (done.status, done.stderr) == ("succeeded", f"<{number}>\n")
            assert done.stdout == f"<{number}>" * 50_000 + "\n"

    def test_the_end_of_one_run_leaves_its_neighbours_alone(self, bench: Bench) -> None:
        cancelled = threading.Event()
        flight = bench.in_flight(scripts.DAEMON_THEN_SLEEP, cancelled=cancelled)
        assert bench.run(scripts.DAEMON).leftover_killed == 1
        assert not flight.done() and len(bench.up()) == 2
        cancelled.set()
        assert flight.result().leftover_killed == 1


@applies("death of a resident")
class TestItsSupervisors:
    def test_descriptors_and_processes_do_not_pile_up(self, bench: Bench) -> None:
        bench.run("")
        us, resident = psutil.Process(os.getpid()), psutil.Process(bench.resident_pid())

        def held() -> tuple[int, int, int]:
            return us.num_fds(), resident.num_fds(), len(resident.children(recursive=True))

        inits = len(resident.children())
        assert eventually(lambda: held()[2] == inits)
        before = held()
        for _ in range(100):
            assert bench.run("", interpreter=Path("/bin/sh")).status == "succeeded"
        assert eventually(lambda: held() == before)


@pytest.mark.skipif(sys.platform != "linux", reason="setuid bits need a program that has one")
@applies("killing")
def test_a_script_cannot_gain_rights_by_a_setuid_program(bench: Bench) -> None:
    status = bench.run("print(open('/proc/self/status').read())").stdout
    assert "NoNewPrivs:\t1" in status
