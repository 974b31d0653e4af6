"""What containers are made of, what they may do, and what is left of them: nothing."""

import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_network
from pathlib import Path

import docker
import psutil
import pytest
from tests.conformance.harness import eventually
from tests.workers.containers import Bench, made_by

from skillfleet_workers.runtimes.base import Limits, RuntimeUnavailableError
from skillfleet_workers.runtimes.container.engine import FLEET_LABEL
from skillfleet_workers.runtimes.container.runtime import ContainerRuntime
from skillfleet_workers.runtimes.owner import this_process

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.docker


def commands(line: str) -> int:
    """How many processes of this machine were started so."""
    return sum(" ".join(one.info["cmdline"] or ()).endswith(line) for one in psutil.process_iter(["cmdline"]))


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

    def test_the_engine_is_told_all_of_it(self, bench: Bench, engine: docker.DockerClient) -> None:
        bench.run("", limits=Limits(memory_mb=300, pids=50, disk_mb=80))
        (made,) = made_by(engine, this_process())
        host = made.attrs["HostConfig"]
        assert host["ReadonlyRootfs"] and host["Init"] and not host["Privileged"]
        assert host["NetworkMode"] == "none"
        assert (host["CapDrop"], host["SecurityOpt"], host["IpcMode"]) == (["ALL"], ["no-new-privileges"], "private")
        assert 300 << 20 < host["Memory"] < 400 << 20 and host["MemorySwap"] == host["Memory"]
        assert host["PidsLimit"] < 60
        assert host["ShmSize"] + (int(host["Tmpfs"]["/tmp"].split("size=")[1].split("m")[0]) << 20) == 80 << 20
        assert not any(mount["RW"] for mount in made.attrs["Mounts"])
        assert made.labels[FLEET_LABEL] == "tested"

    def test_who_asks_for_the_network_is_on_the_bridge(self, bench: Bench, engine: docker.DockerClient) -> None:
        bridge = engine.networks.get("bridge").attrs["IPAM"]["Config"][0]
        # Until it is started for the second time, an engine names none.
        gateway = bridge.get("Gateway") or str(next(ip_network(bridge["Subnet"]).hosts()))
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
    def test_an_image_that_a_skill_names_brings_its_own_interpreter(self, bench: Bench, container_image: str) -> None:
        done = bench.run("import sys; print(sys.executable)", image=container_image)
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
    def test_what_it_makes_is_what_scripts_find(self, bench: Bench, container_image: str) -> None:
        (bench.skill / "words.txt").write_text("from the skill")
        bench.dockerfile(
            f"FROM {container_image}", "ENV GIVEN=yes", "COPY words.txt /words", "RUN cat /words > /copied"
        )
        done = bench.run("import os; print(open('/copied').read(), os.environ['GIVEN'])")
        assert (done.status, done.stdout) == ("succeeded", "from the skill yes\n")

    def test_it_is_built_once_for_what_the_folder_holds(self, bench: Bench, container_image: str) -> None:
        bench.dockerfile(f"FROM {container_image}", "RUN cat /proc/sys/kernel/random/uuid > /once")
        with ThreadPoolExecutor(3) as threads:
            first = [threads.submit(bench.run, "print(open('/once').read())") for _ in range(3)]
        (bench.skill / "Dockerfile").touch()
        assert {run.result().stdout for run in first} == {bench.run("print(open('/once').read())").stdout}
        (bench.skill / "new").write_text("changed")
        assert bench.run("print(1)").stdout == "1\n"

    def test_one_that_fails_is_told_with_its_last_words(self, bench: Bench, container_image: str) -> None:
        bench.dockerfile(f"FROM {container_image}", "RUN echo no such package && exit 7")
        done = bench.run("print(1)")
        assert (done.status, done.returncode) == ("failed", None)
        assert "the skill's Dockerfile cannot be built" in (done.error or "") and "no such package" in (
            done.error or ""
        )

    def test_one_that_takes_too_long_is_ended(self, bench: Bench, container_image: str, tmp_path: Path) -> None:
        bench.runtime.close()
        bench.runtime = ContainerRuntime(tmp_path, container_image, build_timeout_s=1.0)
        bench.dockerfile(f"FROM {container_image}", "RUN sleep 60")
        began = time.monotonic()
        assert "it took longer than 1 s" in (bench.run("print(1)").error or "")
        assert time.monotonic() - began < 30

    def test_one_that_nobody_wants_any_more_is_ended(self, bench: Bench, container_image: str) -> None:
        cancelled = threading.Event()
        bench.dockerfile(f"FROM {container_image}", "RUN sleep 6789")
        with ThreadPoolExecutor(1) as thread:
            flight = thread.submit(bench.run, "print(1)", cancelled=cancelled)
            assert eventually(lambda: commands("sleep 6789") > 0)
            cancelled.set()
            assert "cancelled" in (flight.result().error or "")
        assert eventually(lambda: commands("sleep 6789") == 0)


class TestCores:
    def test_a_run_has_no_more_of_them_than_its_limit(self, bench: Bench, engine: docker.DockerClient) -> None:
        assert bench.run("print(1)", limits=Limits(cpus=0.5)).success
        (made,) = made_by(engine, this_process())
        assert (made.attrs["HostConfig"]["CpuQuota"], made.attrs["HostConfig"]["CpuPeriod"]) == (50_000, 100_000)

    def test_they_are_no_obstacle_to_its_end_and_hold_for_the_next(
        self, bench: Bench, engine: docker.DockerClient
    ) -> None:
        limits = Limits(cpus=0.2)
        busy = "import os\nfor _ in range(20):\n    if os.fork() == 0:\n        break\nwhile True:\n    pass"
        done = bench.run(busy, timeout_s=2.0, limits=limits)
        assert (done.status, done.leftover_killed) == ("timed_out", 20)
        (first,) = made_by(engine, this_process())
        assert first.attrs["HostConfig"]["CpuQuota"] == -1
        assert bench.run("print(1)", limits=limits).stdout == "1\n"
        (second,) = made_by(engine, this_process())
        assert (second.id, second.attrs["HostConfig"]["CpuQuota"]) == (first.id, 20_000)
