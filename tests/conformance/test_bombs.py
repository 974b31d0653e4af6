"""What a script takes beyond its limits is refused or ends it; its worker and the next run do not notice."""

import pytest
from tests.conformance import bombs
from tests.conformance.harness import Bench
from tests.conformance.table import applies

from skillfleet_workers.runtimes.base import Limits
from skillfleet_workers.wire.execution import ScriptExecution

LIMITS = Limits(memory_mb=256, pids=64, disk_mb=50)
WORK_FOLDERS = ("HOME", "/tmp", "/dev/shm", "SKILLFLEET_OUTPUT_DIR")


def run(bench: Bench, script: str, *arguments: str) -> ScriptExecution:
    return bench.run(script, limits=LIMITS, arguments=arguments)


def all_is_free_again(bench: Bench) -> bool:
    """The next run under the same limits has its memory, its disk and its processes."""
    memory = run(bench, f"print(len(b'x' * (150 * {bombs.MB})))")
    disk = run(bench, bombs.FILES, "4", "HOME")
    processes = run(bench, bombs.FORKS, "20")
    return [int(done.stdout or 0) for done in (memory, disk, processes)] == [150 * bombs.MB, 40, 20]


@applies("memory bombs")
class TestMemory:
    @pytest.mark.parametrize("script", [bombs.BIG_BLOCK, bombs.MEMORY_FILE], ids=["heap", "memfd"])
    def test_too_much_memory_is_told_from_other_ends(self, bench: Bench, script: str) -> None:
        done = run(bench, script)
        assert (done.status, done.stdout) == ("oom_killed", "")
        assert not done.success and not done.timed_out
        assert all_is_free_again(bench)

    def test_children_killed_for_memory_are_seen_though_the_script_ends_well(self, bench: Bench) -> None:
        done = run(bench, bombs.CHILDREN_DIE_MAIN_DOES_NOT)
        assert done.status == "oom_killed"
        assert "no child was killed" not in done.stdout
        assert all_is_free_again(bench)

    def test_what_lies_in_shared_memory_is_not_charged_to_the_next_run(self, bench: Bench) -> None:
        done = run(bench, bombs.SHARED_MEMORY)
        assert "held" not in done.stdout
        assert all_is_free_again(bench)

    def test_what_is_allowed_is_given(self, bench: Bench) -> None:
        done = run(bench, f"print(len(b'x' * (200 * {bombs.MB})))")
        assert (done.status, done.stdout) == ("succeeded", f"{200 * bombs.MB}\n")


@applies("bombs")
class TestProcesses:
    @pytest.mark.parametrize("script", [bombs.FORKS, bombs.THREADS], ids=["forks", "threads"])
    def test_there_are_only_so_many(self, bench: Bench, script: str) -> None:
        done = run(bench, script, "300")
        assert 0 < int(done.stdout) < LIMITS.pids
        assert all_is_free_again(bench)

    def test_what_was_forked_is_killed_and_counted(self, bench: Bench) -> None:
        done = run(bench, bombs.FORKS, "300")
        assert done.leftover_killed == int(done.stdout)
        assert bench.alive() == []


@applies("locks")
class TestProcessorTime:
    @pytest.mark.parametrize("fresh", [False, True], ids=["a fork", "a program"])
    def test_more_than_its_seconds_are_not_had_and_the_result_says_so(self, bench: Bench, fresh: bool) -> None:
        done = bench.run("while True: pass", limits=Limits(cpu_seconds=1), fresh_interpreter=fresh)
        assert (done.status, done.signal) == ("killed", "SIGXCPU")
        assert done.error == "killed for processor time: a process of the run used up its 1 s"

    def test_who_ignores_the_signal_is_killed(self, bench: Bench) -> None:
        script = "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"
        done = bench.run(script, limits=Limits(cpu_seconds=1))
        assert (done.status, done.signal) == ("killed", "SIGKILL")
        assert done.error == "killed for processor time: a process of the run used up its 1 s"


@applies("bombs")
class TestDisk:
    @pytest.mark.parametrize("folder", WORK_FOLDERS)
    def test_no_folder_takes_more_than_the_limit(self, bench: Bench, folder: str) -> None:
        done = run(bench, bombs.FILES, "10", folder)
        assert 0 < int(done.stdout) <= LIMITS.disk_mb
        assert all_is_free_again(bench)

    def test_all_folders_together_take_no_more_than_the_limit(self, bench: Bench) -> None:
        done = run(bench, bombs.FILES, "10", *WORK_FOLDERS)
        assert 0 < int(done.stdout) <= LIMITS.disk_mb

    def test_many_small_files_end_as_well(self, bench: Bench) -> None:
        done = run(bench, bombs.MANY_SMALL_FILES)
        assert 0 < int(done.stdout) < 200_000
        assert all_is_free_again(bench)
