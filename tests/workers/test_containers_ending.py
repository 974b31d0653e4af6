"""What is left of containers, whoever dies: nothing."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import docker
import pytest
from tests.conformance.harness import eventually
from tests.workers import containers
from tests.workers.containers import Bench, made_by, programs

from skillfleet_workers.runtimes.base import Limits
from skillfleet_workers.runtimes.container.engine import OWNER_LABEL
from skillfleet_workers.runtimes.container.interpreter import WarmContainer
from skillfleet_workers.runtimes.container.runtime import ContainerRuntime
from skillfleet_workers.runtimes.owner import this_process

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.docker


class TestKilling:
    def test_orphans_that_have_ended_do_not_fill_the_limit_of_processes(self, bench: Bench) -> None:
        orphans = (
            "import os\nfor _ in range(200):\n    if os.fork() == 0:\n        os._exit(os.fork() * 0)\n    os.wait()"
        )
        assert bench.run(orphans, limits=Limits(pids=64)).stderr == ""

    def test_where_a_run_is_not_killed_in_time_all_of_its_container_is(
        self, bench: Bench, engine: docker.DockerClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bench.run("")
        (first,) = made_by(engine, this_process())
        monkeypatch.setattr(WarmContainer, "kill_grace_s", 0.0)
        done = bench.run("import time; print('up', flush=True); time.sleep(60)", timeout_s=1.0)
        assert (done.status, done.returncode, done.stdout) == ("timed_out", 124, "up\n")
        assert eventually(lambda: first.id not in [made.id for made in made_by(engine, this_process())])
        assert bench.run("print(1)").stdout == "1\n"

    def test_a_container_that_the_engine_kills_in_mid_run_is_replaced(
        self, bench: Bench, engine: docker.DockerClient
    ) -> None:
        with ThreadPoolExecutor(1) as thread:
            writes = "import os; open(os.environ['SKILLFLEET_OUTPUT_DIR'] + '/a', 'w')"
            script = f"{writes}; os.execvp('sleep', ['sleep', '60'])"
            flight = thread.submit(bench.run, script, keep=bench.folder / "kept")
            assert eventually(lambda: "sleep 60" in programs(engine))
            made_by(engine, this_process())[0].kill()
            assert (flight.result().status, flight.result().artifacts) == ("lost", ())
        assert bench.run("print(1)").stdout == "1\n"


class TestLeftovers:
    def test_closing_leaves_no_container(self, bench: Bench, engine: docker.DockerClient) -> None:
        bench.run("")
        assert len(made_by(engine, this_process())) == 1
        bench.runtime.close()
        assert made_by(engine, this_process()) == []

    def test_what_dead_workers_have_left_is_removed_by_the_next(
        self, bench: Bench, container_image: str, engine: docker.DockerClient, tmp_path: Path
    ) -> None:
        say = f"import sys; from {this_process.__module__} import this_process; print(this_process(), flush=True)"
        command = [sys.executable, "-c", f"{say}; sys.stdin.read()"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
            assert worker.stdout is not None
            owner = worker.stdout.readline().strip()
            engine.containers.run(container_image, "sleep 63", detach=True, labels={OWNER_LABEL: owner})
            assert bench.run("print(1)").stdout == "1\n"
            assert [made.status for made in made_by(engine, owner)] == ["running"], "its worker lives"
            worker.kill()
        later = Bench(tmp_path, ContainerRuntime(tmp_path, container_image))
        assert later.run("print(1)").stdout == "1\n"
        assert made_by(engine, owner) == []
        assert len(made_by(engine, this_process())) == 2
        later.runtime.close()

    @pytest.mark.parametrize("warm", [True, False], ids=["warm", "by itself"])
    def test_a_container_that_waits_for_a_run_ends_with_its_worker(
        self, engine: docker.DockerClient, container_image: str, bare_image: str, tmp_path: Path, warm: bool
    ) -> None:
        command = [sys.executable, "-m", containers.__name__, str(tmp_path), container_image]
        with subprocess.Popen(
            command if warm else [*command, bare_image],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        ) as worker:  # fmt: skip
            assert worker.stdout is not None
            owner = worker.stdout.readline().strip()
            assert eventually(lambda: [made.status for made in made_by(engine, owner)] == ["running"])
            worker.kill()
        assert eventually(lambda: made_by(engine, owner) == [])
