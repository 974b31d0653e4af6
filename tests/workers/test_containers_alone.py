"""Images in which nothing can be kept warm: every run is a container by itself."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import docker
import pytest
from tests.conformance.harness import PATIENCE_S, eventually
from tests.workers.containers import Bench, made_by, programs

from skillfleet_workers.runtimes.base import Limits
from skillfleet_workers.runtimes.owner import this_process
from skillfleet_workers.wire.artifacts import MAX_FILES

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.docker


def test_a_run_is_a_container_by_itself(bench: Bench, bare_image: str, engine: docker.DockerClient) -> None:
    done = bench.shell(
        'read line; echo "$line $1 $GIVEN $MINE"; pwd; echo wrong >&2\n'
        'echo kept > "$SKILLFLEET_OUTPUT_DIR/file"; exit 3',
        image=bare_image, stdin=b"fed\n", arguments=("argued",), environment={"MINE": "skill"},
        keep=bench.folder / "kept",
    )  # fmt: skip
    assert (done.status, done.returncode, done.stderr) == ("failed", 3, "wrong\n")
    assert done.stdout == f"fed argued image skill\n{bench.skill}\n"
    assert (done.runtime, done.isolation) == ("container", "container")
    assert [Path(one.location).read_text() for one in done.artifacts] == ["kept\n"]
    bench.runtime.close()
    assert made_by(engine, this_process()) == []


def test_no_run_meets_what_another_has_left(bench: Bench, bare_image: str) -> None:
    leave = "for folder in /tmp /dev/shm /dev/mqueue; do : > $folder/left; done; ls -A /tmp /dev/shm /dev/mqueue"
    first = bench.shell(leave, image=bare_image).stdout
    assert first.count("left") == 3
    assert bench.shell("ls -A /tmp /dev/shm /dev/mqueue", image=bare_image).stdout == first.replace("left\n", "")


def test_the_engine_is_not_told_what_a_script_is_given(
    bench: Bench, bare_image: str, engine: docker.DockerClient
) -> None:
    cancelled = threading.Event()
    given: dict[str, Any] = {"environment": {"KEY": "hidden"}, "arguments": ("argued",), "cancelled": cancelled}
    with ThreadPoolExecutor(1) as thread:
        flight = thread.submit(bench.shell, "sleep 61", image=bare_image, **given)
        assert eventually(lambda: "sleep 61" in programs(engine))
        told = str([made.attrs["Config"] for made in made_by(engine, this_process())])
        cancelled.set()
        assert flight.result().status == "cancelled"
    assert "skillfleet" in told and "hidden" not in told and "argued" not in told


def test_all_of_it_ends_at_its_timeout_and_is_counted(bench: Bench, bare_image: str) -> None:
    done = bench.shell("echo before; setsid sleep 62 & sleep 62", timeout_s=2.0, image=bare_image)
    assert (done.status, done.stdout, done.returncode) == ("timed_out", "before\n", 124)
    assert done.leftover_killed == 2
    cancelled = threading.Event()
    cancelled.set()
    assert bench.shell("sleep 62", image=bare_image, cancelled=cancelled).status == "cancelled"


def test_a_signal_is_told_from_the_exit_code_that_looks_like_it(bench: Bench, bare_image: str) -> None:
    assert bench.shell("kill -SEGV $$", image=bare_image).signal == "SIGSEGV"
    done = bench.shell("exit 139", image=bare_image)
    assert (done.status, done.returncode, done.signal) == ("failed", 139, None)


def test_too_much_memory_is_told(bench: Bench, bare_image: str) -> None:
    limits = Limits(memory_mb=64, disk_mb=16)
    eats = "x=0123456789abcdef; while :; do x=$x$x; done"
    assert bench.shell(eats, image=bare_image, limits=limits).status == "oom_killed"
    in_a_child = f"({eats}); exit 0"
    assert bench.shell(in_a_child, image=bare_image, limits=limits).status == "oom_killed"


def test_its_output_folder_takes_no_more_than_its_limit(bench: Bench, bare_image: str) -> None:
    fill = 'cd "$SKILLFLEET_OUTPUT_DIR"; echo small > a; head -c 40000000 /dev/zero > b; truncate -s 9G c'
    done = bench.shell(fill, image=bare_image, limits=Limits(disk_mb=16), keep=bench.folder / "kept")
    assert "No space left on device" in done.stderr
    assert [(one.path, one.bytes < 16 << 20) for one in done.artifacts] == [("a", True), ("b", True)]


def test_processor_time_is_limited(bench: Bench, bare_image: str) -> None:
    done = bench.shell("while :; do :; done", image=bare_image, limits=Limits(cpu_seconds=1))
    assert (done.status, done.signal) == ("killed", "SIGXCPU")


def test_a_script_cannot_end_or_read_what_holds_it(bench: Bench, bare_image: str) -> None:
    tries = "kill -9 1; kill -INT 1; kill -STOP 1; cat /proc/1/environ; cat /proc/1/fd/0; echo alive"
    done = bench.shell(tries, image=bare_image)
    assert (done.status, done.stdout) == ("succeeded", "alive\n")
    assert done.stderr.count("ermission denied") >= 2


def test_a_missing_interpreter_is_a_value(bench: Bench, bare_image: str) -> None:
    done = bench.run("print(1)", image=bare_image)
    assert (done.status, done.returncode, done.error) == ("failed", None, "No such file or directory: python3")


def test_much_output_and_much_input_pass(bench: Bench, bare_image: str) -> None:
    done = bench.shell("cat", image=bare_image, stdin=b"0123456789" * 300_000)
    assert (done.status, done.stdout_bytes) == ("succeeded", 3_000_000)


def test_one_that_has_died_while_it_waited_is_replaced(
    bench: Bench, bare_image: str, engine: docker.DockerClient
) -> None:
    bench.shell("", image=bare_image)
    assert eventually(lambda: [made.status for made in made_by(engine, this_process())] == ["running"])
    made_by(engine, this_process())[0].kill()
    assert eventually(lambda: made_by(engine, this_process()) == [])
    assert bench.shell("echo 1", image=bare_image).stdout == "1\n"


def test_a_container_that_dies_under_its_run_is_told_of_at_once(
    bench: Bench, bare_image: str, engine: docker.DockerClient
) -> None:
    with ThreadPoolExecutor(1) as thread:
        flight = thread.submit(bench.shell, "sleep 64", timeout_s=600.0, image=bare_image)
        assert eventually(lambda: "sleep 64" in programs(engine))
        for made in made_by(engine, this_process()):
            if "sleep 64" in str(made.top()["Processes"]):
                made.kill()
        assert flight.result(PATIENCE_S).status == "lost"


def test_only_so_many_files_are_handed_over(bench: Bench, bare_image: str) -> None:
    many = 'i=0; while [ $i -lt 3000 ]; do : > "$SKILLFLEET_OUTPUT_DIR/$i"; i=$((i+1)); done'
    done = bench.shell(many, image=bare_image, keep=bench.folder / "kept")
    assert (done.status, len(done.artifacts)) == ("succeeded", MAX_FILES)
