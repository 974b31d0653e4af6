"""A runtime of containers, one skill folder, and a worker process that can be killed over them."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import docker
from docker.models.containers import Container
from tests.runtime_image import runtime_image

from skillfleet_workers.runtimes.base import RunRequest
from skillfleet_workers.runtimes.container.engine import OWNER_LABEL
from skillfleet_workers.runtimes.container.runtime import ContainerRuntime
from skillfleet_workers.runtimes.owner import this_process
from skillfleet_workers.wire.execution import ScriptExecution


def made_by(client: docker.DockerClient, owner: object) -> list[Container]:
    wanted = {"label": f"{OWNER_LABEL}={owner}"}
    return list(client.containers.list(all=True, filters=wanted, ignore_removed=True))


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


def hold(folder: str, image: str) -> None:
    """A worker that says who it is, and then runs for a minute in a container of the image."""
    bench = Bench(Path(folder), ContainerRuntime(Path(folder), runtime_image()))
    sys.stdout.write(f"{this_process()}\n")
    sys.stdout.flush()
    bench.shell("sleep 60", timeout_s=60.0, image=image)


if __name__ == "__main__":
    hold(*sys.argv[1:])
