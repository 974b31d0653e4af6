"""Attempts to get out: what each would reach is refused, and what can be written goes with the run."""

import json
import os
import threading
import venv
from pathlib import Path

import psutil
import pytest
from tests.conformance import bombs, escapes, scripts
from tests.conformance.harness import Bench
from tests.conformance.outside import servers
from tests.conformance.table import CONTAINERS, applies

from skillfleet_workers.runtimes.base import Limits
from skillfleet_workers.runtimes.isolation import SANDBOX_UID

OWN_PLACES = {"/tmp", "/dev/shm", "/dev/mqueue"}


@applies("locks")
class TestLocks:
    @pytest.mark.parametrize("kind", sorted(escapes.WAYS.keys() - {"files"}))
    def test_no_known_way_out_is_open(self, bench: Bench, kind: str) -> None:
        done = bench.run(escapes.TRIES, arguments=escapes.ARGUMENTS[kind])
        assert (done.stdout, done.stderr) == ("tried all\n", "")

    def test_more_memory_than_its_limit_is_never_had(self, bench: Bench) -> None:
        done = bench.run(bombs.BIG_BLOCK, limits=Limits(memory_mb=256))
        assert (done.success, done.stdout) == (False, "")
        assert bench.run("print(1)").stdout == "1\n"


@applies("secrecy")
class TestEscape:
    def test_no_file_is_a_way_out(self, bench: Bench) -> None:
        done = bench.run(escapes.TRIES, arguments=escapes.ARGUMENTS["files"])
        assert (done.stdout, done.stderr) == ("tried all\n", "")

    def test_files_can_be_made_in_its_own_places_only_and_do_not_stay(self, bench: Bench) -> None:
        first = bench.run(escapes.WRITES_EVERYWHERE).stdout.split()
        assert set(first) <= OWN_PLACES
        assert bench.run(escapes.WRITES_EVERYWHERE).stdout.split() == first

    def test_programs_that_make_others_root_do_not(self, bench: Bench) -> None:
        lines = bench.run(escapes.SETUID_PROGRAMS).stdout.splitlines()
        assert [line.split()[1:] for line in lines] == [["failed"]] * 3

    @pytest.mark.parametrize("fresh", [False, True])
    def test_nothing_is_open_in_it_but_its_streams(self, bench: Bench, fresh: bool) -> None:
        script = "import os; print(sorted(map(int, os.listdir('/proc/self/fd')))[:-1])"
        assert bench.run(script, fresh_interpreter=fresh).stdout == "[0, 1, 2]\n"

    def test_nothing_is_open_in_a_shell_script_but_its_streams(self, bench: Bench) -> None:
        done = bench.run("cd /proc/self/fd; echo *\n", interpreter=Path("/bin/sh"), language="shell")
        assert set(map(int, done.stdout.split())) <= {0, 1, 2, 3, 10}  # a shell holds its script and its folder

    def test_no_core_is_dumped(self, bench: Bench) -> None:
        script = "import resource; print(resource.getrlimit(resource.RLIMIT_CORE)[1] <= 1)"
        assert bench.run(script).stdout == "True\n"

    def test_empty_files_are_limited_as_full_ones_are(self, bench: Bench) -> None:
        done = bench.run(escapes.EMPTY_FILES, limits=Limits(memory_mb=256, pids=64, disk_mb=16))
        # A container has no limit for them, but their memory is counted.
        by_memory = bench.name in CONTAINERS and done.status == "oom_killed"
        assert by_memory or 0 < int(done.stdout) <= 16 * 256
        assert bench.run("print(1)").stdout == "1\n"

    def test_to_the_host_it_is_not_root(self, bench: Bench) -> None:
        cancelled = threading.Event()
        flight = bench.in_flight(scripts.SLEEPER, cancelled=cancelled)
        process = psutil.Process(bench.up()[0])
        wanted = SANDBOX_UID if os.geteuid() == 0 else os.geteuid()
        assert set(process.uids()) == set(process.gids()) == {wanted}
        cancelled.set()
        assert flight.result().status == "cancelled"

    def test_what_is_imported_ahead_is_held_by_the_sandbox_already(
        self, bench: Bench, state_dir: Path, tmp_path: Path
    ) -> None:
        venv.create(tmp_path / "env", symlinks=True)
        (packages,) = (tmp_path / "env" / "lib").glob("python*/site-packages")
        with servers(state_dir) as outside:
            (packages / "nosy.py").write_text(escapes.TOLD_AT_IMPORT.format(port=outside.addresses["tcp"]))
            python = tmp_path / "env" / "bin" / "python"
            done = bench.run("import nosy; print(nosy.found)", interpreter=python, preload=("nosy",))
            assert (done.stdout, done.stderr, outside.heard) == ("[]\n", "", [])


@applies("locks")
def test_a_run_without_walls_would_be_told_by_these_attempts(bench: Bench) -> None:
    """The attempts themselves work: they find what is open to everybody."""
    open_to_all = {"its own memory": "read('/proc/self/status')", "its home": "write(home + '/x')"}
    done = bench.run(escapes.TRIES, arguments=(json.dumps(open_to_all),))
    assert [line.partition(" by ")[0] for line in done.stdout.splitlines()] == ["got in", "got in", "tried all"]
