"""What containers are made of, what they may do, and what is left of them: nothing."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import docker
import pytest
from tests.conformance.harness import eventually
from tests.conftest import Require
from tests.runtime_image import engine_answers, runtime_image
from tests.workers import containers
from tests.workers.containers import Bench, made_by

from skillfleet_workers.runtimes.base import Limits, RuntimeUnavailableError
from skillfleet_workers.runtimes.container.engine import FLEET_LABEL
from skillfleet_workers.runtimes.container.interpreter import WarmContainer
from skillfleet_workers.runtimes.container.runtime import ContainerRuntime
from skillfleet_workers.runtimes.owner import this_process

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def client(require: Require) -> Iterator[docker.DockerClient]:
    require(engine_answers(), "a Docker engine (tests/system/start-docker.sh starts one)")
    client = docker.from_env()
    yield client
    client.close()


@pytest.fixture(scope="module")
def image(client: docker.DockerClient) -> str:
    return runtime_image()


@pytest.fixture
def bench(image: str, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path, ContainerRuntime(tmp_path, image, fleet="tested"))
    yield bench
    bench.runtime.close()


def programs(client: docker.DockerClient) -> str:
    """What runs in this process's containers."""
    running = (made for made in made_by(client, this_process()) if made.status == "running")
    return str([made.top()["Processes"] for made in running])


class TestHardening:
    def test_a_script_is_nobody_and_can_change_nothing(self, bench: Bench) -> None:
        script = """
import os
told = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines())
print(os.getuid() > 0, int(told["CapEff"], 16), int(told["CapBnd"], 16), told["NoNewPrivs"], told["Seccomp"])
for folder in ("/", "/etc", "/usr", "/var/tmp", "/run", "/home", os.getcwd()):
    try:
        open(os.path.join(folder, "mine"), "w")
        print("wrote to", folder)
    except OSError:
        pass
"""
        assert bench.run(script).stdout == "True 0 0 1 2\n"

    def test_the_engine_is_told_all_of_it(self, bench: Bench, client: docker.DockerClient) -> None:
        bench.run("", limits=Limits(memory_mb=300, pids=50, disk_mb=80))
        (made,) = made_by(client, this_process())
        host = made.attrs["HostConfig"]
        assert host["ReadonlyRootfs"] and host["Init"] and not host["Privileged"]
        assert host["NetworkMode"] == "none"
        assert (host["CapDrop"], host["SecurityOpt"], host["IpcMode"]) == (["ALL"], ["no-new-privileges"], "private")
        assert 300 << 20 < host["Memory"] < 400 << 20 and host["MemorySwap"] == host["Memory"]
        assert host["PidsLimit"] < 60
        assert host["ShmSize"] + (int(host["Tmpfs"]["/tmp"].split("size=")[1].split("m")[0]) << 20) == 80 << 20
        assert not any(mount["RW"] for mount in made.attrs["Mounts"])
        assert made.labels[FLEET_LABEL] == "tested"

    def test_who_asks_for_the_network_is_on_the_bridge(self, bench: Bench, client: docker.DockerClient) -> None:
        gateway = client.networks.get("bridge").attrs["IPAM"]["Config"][0]["Gateway"]
        with socket.create_server((gateway, 0)) as server:
            call = f"import socket; socket.create_connection({server.getsockname()!r}, 5); print('through')"
            assert bench.run(call).stdout == ""
            assert bench.run(call, network="host").stdout == "through\n"

    def test_what_cannot_be_tidied_up_is_not_met_by_the_next_run(self, bench: Bench) -> None:
        deep = "import os; os.chdir('/tmp')\nfor _ in range(1500):\n    os.mkdir('deeper'); os.chdir('deeper')"
        assert bench.run(deep).success
        assert bench.run("import os; print('deeper' in os.listdir('/tmp'))").stdout == "False\n"

    def test_folders_that_were_closed_are_emptied(self, bench: Bench) -> None:
        close = "import os; os.makedirs('/tmp/closed/in'); os.chmod('/tmp/closed', 0); os.mkfifo('/dev/shm/pipe')"
        assert bench.run(close).success
        assert (
            bench.run("import os; print(os.path.exists('/tmp/closed'), os.listdir('/dev/shm'))").stdout
            == "False []\n"
        )


class TestImages:
    def test_an_image_that_a_skill_names_brings_its_own_interpreter(self, bench: Bench, image: str) -> None:
        done = bench.run("import sys; print(sys.executable)", image=image)
        assert (done.status, done.isolation) == ("succeeded", "container")
        assert done.stdout.strip() == done.interpreter != sys.executable
        assert not done.interpreter.startswith(sys.prefix)

    def test_an_image_that_is_not_to_be_had_is_named_with_the_reason(self, bench: Bench) -> None:
        done = bench.run("print(1)", image="skillfleet-no-such-image:ever")
        assert (done.status, done.returncode) == ("failed", None)
        assert (done.error or "").startswith(
            "image skillfleet-no-such-image:ever is not on this machine and cannot be pulled: "
        )

    def test_a_missing_default_image_comes_with_the_way_to_make_it(self, bench: Bench, tmp_path: Path) -> None:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(bench, "runtime", ContainerRuntime(tmp_path, "skillfleet-never-built:1"))
            done = bench.run("print(1)")
        assert "docker build -f deploy/skill-runtime.Dockerfile -t skillfleet-never-built:1" in (done.error or "")

    def test_no_engine_is_told_in_one_line(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
        with pytest.raises(RuntimeUnavailableError) as told:
            Bench(tmp_path, ContainerRuntime(tmp_path)).run("print(1)")
        assert str(told.value).startswith("no Docker engine answers (No such file or directory); start one")


class TestDockerfiles:
    def test_what_it_makes_is_what_scripts_find(self, bench: Bench, image: str) -> None:
        (bench.skill / "words.txt").write_text("from the skill")
        bench.dockerfile(f"FROM {image}", "ENV GIVEN=yes", "COPY words.txt /words", "RUN cat /words > /copied")
        done = bench.run("import os; print(open('/copied').read(), os.environ['GIVEN'])")
        assert (done.status, done.stdout) == ("succeeded", "from the skill yes\n")

    def test_it_is_built_once_for_what_the_folder_holds(self, bench: Bench, image: str) -> None:
        bench.dockerfile(f"FROM {image}", "RUN cat /proc/sys/kernel/random/uuid > /once")
        with ThreadPoolExecutor(3) as threads:
            first = [threads.submit(bench.run, "print(open('/once').read())") for _ in range(3)]
        (bench.skill / "Dockerfile").touch()
        assert {run.result().stdout for run in first} == {bench.run("print(open('/once').read())").stdout}
        (bench.skill / "new").write_text("changed")
        assert bench.run("print(1)").stdout == "1\n"

    def test_one_that_fails_is_told_with_its_last_words(self, bench: Bench, image: str) -> None:
        bench.dockerfile(f"FROM {image}", "RUN echo no such package && exit 7")
        done = bench.run("print(1)")
        assert (done.status, done.returncode) == ("failed", None)
        assert "the skill's Dockerfile cannot be built" in (done.error or "") and "no such package" in (
            done.error or ""
        )

    def test_one_that_takes_too_long_is_ended(self, bench: Bench, image: str, tmp_path: Path) -> None:
        bench.runtime.close()
        bench.runtime = ContainerRuntime(tmp_path, image, build_timeout_s=1.0)
        bench.dockerfile(f"FROM {image}", "RUN sleep 60")
        began = time.monotonic()
        assert "it took longer than 1 s" in (bench.run("print(1)").error or "")
        assert time.monotonic() - began < 30


@pytest.fixture(scope="module")
def bare_image(client: docker.DockerClient, image: str) -> str:
    """No Python in it."""
    file = f"FROM {image}\nRUN rm -f /usr/bin/python3* /usr/local/bin/python3*\nENV GIVEN=image\n"
    subprocess.run(["docker", "build", "-q", "-t", "skillfleet-bare:test", "-"], input=file.encode(), check=True)
    return "skillfleet-bare:test"


class TestWithoutPython:
    def test_a_run_is_a_container_by_itself(self, bench: Bench, bare_image: str, client: docker.DockerClient) -> None:
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
        assert made_by(client, this_process()) == []

    def test_its_timeout_and_its_cancellation_end_it(
        self, bench: Bench, bare_image: str, client: docker.DockerClient
    ) -> None:
        done = bench.shell("echo before; setsid sleep 60 & sleep 60", timeout_s=4.0, image=bare_image)
        assert (done.status, done.stdout, done.returncode) == ("timed_out", "before\n", 124)
        cancelled = threading.Event()
        cancelled.set()
        assert bench.shell("sleep 60", image=bare_image, cancelled=cancelled).status == "cancelled"
        assert made_by(client, this_process()) == []

    def test_its_signal_and_its_memory_are_told(self, bench: Bench, bare_image: str) -> None:
        assert bench.shell("kill -SEGV $$", image=bare_image).signal == "SIGSEGV"
        limits = Limits(memory_mb=64, disk_mb=16)
        eats = "x=0123456789abcdef; while :; do x=$x$x; done"
        assert bench.shell(eats, image=bare_image, limits=limits).status == "oom_killed"

    def test_a_missing_interpreter_is_a_value(self, bench: Bench, bare_image: str) -> None:
        done = bench.run("print(1)", image=bare_image)
        assert (done.status, done.returncode) == ("failed", 127)
        assert "python3 failed: No such file or directory" in done.stderr

    def test_much_output_and_much_input_pass(self, bench: Bench, bare_image: str) -> None:
        done = bench.shell("cat", image=bare_image, stdin=b"0123456789" * 300_000)
        assert (done.status, done.stdout_bytes) == ("succeeded", 3_000_000)


class TestKilling:
    def test_orphans_that_have_ended_do_not_fill_the_limit_of_processes(self, bench: Bench) -> None:
        orphans = (
            "import os\nfor _ in range(200):\n    if os.fork() == 0:\n        os._exit(os.fork() * 0)\n    os.wait()"
        )
        assert bench.run(orphans, limits=Limits(pids=64)).stderr == ""

    def test_where_a_run_is_not_killed_in_time_all_of_its_container_is(
        self, bench: Bench, client: docker.DockerClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bench.run("")
        (first,) = made_by(client, this_process())
        monkeypatch.setattr(WarmContainer, "kill_grace_s", 0.0)
        done = bench.run("import time; print('up', flush=True); time.sleep(60)", timeout_s=1.0)
        assert (done.status, done.returncode, done.stdout) == ("timed_out", 124, "up\n")
        assert first.id not in [made.id for made in made_by(client, this_process())]
        assert bench.run("print(1)").stdout == "1\n"

    def test_a_container_that_the_engine_kills_in_mid_run_is_replaced(
        self, bench: Bench, client: docker.DockerClient
    ) -> None:
        with ThreadPoolExecutor(1) as thread:
            flight = thread.submit(bench.run, "import subprocess; subprocess.run(['sleep', '60'])")
            assert eventually(lambda: "sleep 60" in programs(client))
            made_by(client, this_process())[0].kill()
            assert flight.result().status == "lost"
        assert bench.run("print(1)").stdout == "1\n"


class TestLeftovers:
    def test_closing_leaves_no_container(self, bench: Bench, client: docker.DockerClient) -> None:
        bench.run("")
        assert len(made_by(client, this_process())) == 1
        bench.runtime.close()
        assert made_by(client, this_process()) == []

    def test_what_a_killed_worker_has_left_is_removed_by_the_next(
        self, bench: Bench, bare_image: str, client: docker.DockerClient, tmp_path: Path
    ) -> None:
        folder = tmp_path / "killed"
        folder.mkdir()
        command = [sys.executable, "-m", containers.__name__, str(folder), bare_image]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as worker:
            assert worker.stdout is not None
            owner = worker.stdout.readline().strip()
            assert eventually(lambda: [one.status for one in made_by(client, owner)] == ["running"])
            assert bench.run("print(1)").stdout == "1\n"
            assert len(made_by(client, owner)) == 1, "its worker lives"
            worker.send_signal(signal.SIGKILL)
        assert len(made_by(client, owner)) == 1
        later = Bench(tmp_path, ContainerRuntime(tmp_path, runtime_image()))
        assert later.run("print(1)").stdout == "1\n"
        assert made_by(client, owner) == []
        assert len(made_by(client, this_process())) == 2
        later.runtime.close()

    def test_a_warm_container_ends_with_its_worker(
        self, client: docker.DockerClient, image: str, tmp_path: Path
    ) -> None:
        script = (
            "import sys; from pathlib import Path; from tests.workers.containers import *\n"
            f"bench = Bench(Path({str(tmp_path)!r}), ContainerRuntime(Path({str(tmp_path)!r}), {image!r}))\n"
            "bench.run(''); print(this_process(), flush=True); sys.stdin.read()"
        )
        with subprocess.Popen(
            [sys.executable, "-c", script], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as worker:
            assert worker.stdout is not None
            owner = worker.stdout.readline().strip()
            assert [one.status for one in made_by(client, owner)] == ["running"]
            os.kill(worker.pid, signal.SIGKILL)
        assert eventually(lambda: made_by(client, owner) == [])
