"""A runtime of containers, one skill folder, and a worker process that can be killed over them."""

import select
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import docker
from docker.errors import APIError
from docker.models.containers import Container

from skillfleet_workers.runtimes.base import RunRequest
from skillfleet_workers.runtimes.container.engine import OWNER_LABEL
from skillfleet_workers.runtimes.container.interpreter import WarmContainer
from skillfleet_workers.runtimes.container.runtime import ContainerRuntime
from skillfleet_workers.runtimes.owner import this_process
from skillfleet_workers.wire.execution import ScriptExecution


def made_by(client: docker.DockerClient, owner: object) -> list[Container]:
    wanted = {"label": f"{OWNER_LABEL}={owner}"}
    return list(client.containers.list(all=True, filters=wanted, ignore_removed=True))


def programs(client: docker.DockerClient) -> str:
    """What runs in this process's containers."""
    told = []
    for made in made_by(client, this_process()):
        with suppress(APIError):  # not yet started, or ended
            told.append(made.top()["Processes"])
    return str(told)


@dataclass
class Bench:
    folder: Path
    runtime: ContainerRuntime

    @property
    def skill(self) -> Path:
        skill = self.folder / "skill"
        skill.mkdir(exist_ok=True)
        return skill

    def request(self, script: str, timeout_s: float = 30.0, **more: Any) -> RunRequest:
        """A file of the skill when it is named so, else source."""
        found: str | Path = Path(script) if (self.skill / script).is_file() else script
        plain = RunRequest("demo", self.skill, Path(sys.executable), found, {"PATH": "/usr/bin:/bin"}, timeout_s)
        return replace(plain, **more)

    def run(self, script: str, timeout_s: float = 30.0, **more: Any) -> ScriptExecution:
        return self.runtime.run(self.request(script, timeout_s, **more))

    def shell(self, source: str, timeout_s: float = 30.0, **more: Any) -> ScriptExecution:
        """By /bin/sh, in a file whose name a script's source is not."""
        (self.skill / "run.sh").write_text(source)
        return self.run("run.sh", timeout_s, language="shell", interpreter=Path("/bin/sh"), **more)

    def dockerfile(self, *lines: str) -> None:
        (self.skill / "Dockerfile").write_text("".join(f"{line}\n" for line in lines))


def hold(folder: str, base: str, image: str = "") -> None:
    """A worker that says who it is once a run has ended in one of its containers, and the spare that it was asked
    for is announced, but not yet heard of."""
    bench = Bench(Path(folder), ContainerRuntime(Path(folder), base))
    assert bench.shell("", image=image or None).success
    for warm in bench.runtime._pool.interpreters():
        if isinstance(warm, WarmContainer) and warm._channel is not None:
            select.select([warm._channel._connection], [], [])
    sys.stdout.write(f"{this_process()}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    hold(*sys.argv[1:])
