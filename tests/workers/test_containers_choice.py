"""Who gets a container, and of what kind."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
import pytest
from tests.workers.test_choice import offers, request

from skillfleet_workers.runtimes.base import RunRequest
from skillfleet_workers.runtimes.choice import ChosenRuntime
from skillfleet_workers.runtimes.container.engine import gvisor_among
from skillfleet_workers.runtimes.host import host_runtime
from skillfleet_workers.wire.execution import ScriptExecution


class Failing:
    """A runtime in which every script fails."""

    name = "warm"

    def run(self, asked: RunRequest) -> ScriptExecution:
        return ScriptExecution(status="failed", returncode=1)

    def close(self) -> None: ...


@pytest.fixture
def shipping(tmp_path: Path) -> RunRequest:
    """For a skill with a Dockerfile."""
    (tmp_path / "Dockerfile").write_text("FROM scratch\n")
    return replace(request(), skill_root=tmp_path)


@pytest.mark.parametrize(
    ("runtimes", "name"),
    [
        ({"runc": {"path": "runc"}, "io.containerd.runc.v2": {"path": "runc"}}, None),
        ({"runc": {"path": "runc"}, "runsc": {"path": "/usr/local/bin/runsc"}}, "runsc"),
        ({"runc": {"path": "runc"}, "gvisor": {"path": "/opt/runsc", "runtimeArgs": ["--platform=kvm"]}}, "gvisor"),
        ({"gvisor": {"path": "/opt/runsc"}, "runsc": {"runtimeType": "io.containerd.runsc.v1"}}, "runsc"),
        (None, None),
    ],
)
def test_gvisor_is_found_by_what_the_engine_says_of_itself(runtimes: dict[str, Any] | None, name: str | None) -> None:
    assert gvisor_among({"Runtimes": runtimes}) == name


class TestDemandedGvisor:
    @pytest.fixture
    def demanded(self, engine: docker.DockerClient, tmp_path: Path) -> Iterator[ChosenRuntime]:
        runtime = host_runtime(tmp_path, "gvisor")
        yield runtime
        runtime.close()

    def test_it_is_refused_in_one_line_where_the_engine_has_none(
        self, demanded: ChosenRuntime, engine: docker.DockerClient, tmp_path: Path
    ) -> None:
        if gvisor_among(engine.info()):
            pytest.skip("this engine has gVisor")
        assert "demands 'gvisor'" in demanded.refusal and "container (container)" in demanded.refusal
        assert "\n" not in demanded.refusal
        done = demanded.run(replace(request("container"), skill_root=tmp_path))
        assert (done.status, done.returncode, done.stdout) == ("failed", None, "")

    def test_it_is_given_where_the_engine_has_it(
        self, engine: docker.DockerClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        said = engine.info() | {"Runtimes": {"runsc": {"path": "/usr/bin/runsc"}}}
        monkeypatch.setattr(docker.DockerClient, "info", lambda _: said)
        runtime = host_runtime(tmp_path, "gvisor")
        assert (runtime.refusal, runtime.isolation) == ("", "gvisor")
        runtime.close()


class TestSkillsWithADockerfile:
    def test_they_get_their_container(self, shipping: RunRequest) -> None:
        assert ChosenRuntime(lambda: offers("warm", "container"), "process").run(shipping).runtime == "container"

    @pytest.mark.parametrize("asked", ["warm", "process"])
    def test_they_do_not_where_they_name_another_runtime(self, shipping: RunRequest, asked: Any) -> None:
        runtime = ChosenRuntime(lambda: offers("warm", "container"), "process")
        assert runtime.run(replace(shipping, runtime=asked)).runtime == "warm"

    def test_without_an_engine_they_run_and_a_failure_says_what_was_left_out(self, shipping: RunRequest) -> None:
        done = ChosenRuntime(lambda: offers("warm"), "process").run(shipping)
        assert (done.runtime, done.success, done.error) == ("warm", True, None)
        has = offers("warm")
        failing = ChosenRuntime(lambda: {"warm": replace(has["warm"], runtime=Failing())}, "process").run(shipping)
        assert failing.error == "the skill's Dockerfile was not used: this worker has no Docker engine"

    def test_without_an_engine_they_are_refused_where_they_demand_a_container(self, shipping: RunRequest) -> None:
        done = ChosenRuntime(lambda: offers("warm"), "process").run(replace(shipping, runtime="container"))
        assert (done.status, done.returncode) == ("failed", None)
        assert "nothing ran" in (done.error or "")
