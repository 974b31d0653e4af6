"""Our runtimes as a worker opens them, the environments of two skills, and what is run in them."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.runtime_image import engine_answers, runtime_image

from skillfleet_workers.environments.build import Environments
from skillfleet_workers.runtimes.base import Limits, RunRequest, Runtime, RuntimeUnavailableError
from skillfleet_workers.runtimes.cgroups import Cgroups, find_cgroups
from skillfleet_workers.runtimes.container.runtime import ContainerRuntime
from skillfleet_workers.runtimes.isolation import sandbox_trouble, sandbox_user
from skillfleet_workers.runtimes.process import ProcessRuntime
from skillfleet_workers.runtimes.warm.runtime import WarmRuntime
from skillfleet_workers.skills.models import Skill

from ..fleet import BenchError
from ..sides import SCRIPT

TIMEOUT_S = 30
PANDAS = "import pandas\nprint(int(pandas.DataFrame({'n': [1, 2, 3], 'm': [4, 5, 6]}).sum().sum()))\n"
PANDAS_SAYS = "21"
SHELL_FILE = "echo.sh"
SAYS = "4"


class Ours:
    """`missing`: why a runtime is not among `runtimes`. `image`: of the containers."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.missing: dict[str, str] = {}
        self.runtimes: dict[str, Runtime] = {}
        self.skill = _skill(folder / "skills" / "sums")
        self.environments = Environments(cache_folder() / "environments")
        self.interpreter = self._interpreter()
        scratch = folder / "scratch"
        scratch.mkdir()
        self.runtimes["process"] = stack.enter_context(closing(ProcessRuntime(scratch)))
        if trouble := sandbox_trouble():
            self.missing["warm"] = trouble
        else:
            self.runtimes["warm"] = stack.enter_context(closing(warm_runtime()))
        self.image = self._open_container(scratch, stack)

    def pandas_interpreter(self) -> Path:
        """Its environment is built once for a machine; that needs the package index."""
        return self._interpreter("pandas")

    def request(self, **what: Any) -> RunRequest:
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
        plain = RunRequest("sums", self.skill, self.interpreter, SCRIPT, environment, TIMEOUT_S)
        return replace(plain, **what)

    def pandas(self, **what: Any) -> RunRequest:
        return self.request(interpreter=self.pandas_interpreter(), script=PANDAS, preload=("pandas",), **what)

    def bash(self) -> RunRequest:
        binary = Path(shutil.which("bash") or "/bin/bash")
        return self.request(interpreter=binary, script=Path(SHELL_FILE), language="shell")

    def check(self, runtime: str, request: RunRequest, says: str) -> None:
        """Run it and see that it is right. Raises: BenchError."""
        done = self.runtimes[runtime].run(request)
        if done.status != "succeeded" or done.stdout.strip() != says:
            raise BenchError(f"our {runtime} run went wrong: {done}")

    def _interpreter(self, *requirements: str) -> Path:
        found = self.environments.interpreter_for(Skill("sums", self.skill, requirements=requirements))
        if not isinstance(found, Path):
            raise BenchError(found.message)
        return found

    def _open_container(self, scratch: Path, stack: ExitStack) -> str:
        image = found_image()
        if image is None:
            self.missing["container"] = "no Docker engine answers, or no image can be made there"
            return ""
        runtime = stack.enter_context(closing(ContainerRuntime(scratch, image)))
        self.runtimes["container"] = runtime
        try:
            self.check("container", self.request(), SAYS)
        except RuntimeUnavailableError as trouble:
            self.missing["container"] = str(trouble)
            del self.runtimes["container"]
        return image


def found_image() -> str | None:
    """Of deploy/skill-runtime.Dockerfile, built where it is not there yet."""
    try:
        return runtime_image() if engine_answers() else None
    except (subprocess.SubprocessError, pytest.skip.Exception, pytest.fail.Exception):
        return None


def warm_runtime() -> WarmRuntime:
    found = find_cgroups()
    return WarmRuntime(found if isinstance(found, Cgroups) else None, sandbox_user())


def cache_folder() -> Path:
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "skillfleet-bench")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def anew(request: RunRequest, number: int) -> RunRequest:
    """The same, but no interpreter that is warm by now will do for it."""
    return replace(request, limits=Limits(memory_mb=Limits().memory_mb + number))


def _skill(folder: Path) -> Path:
    scripts: Mapping[str, str] = {
        "SKILL.md": "---\nname: sums\ndescription: Adds numbers up.\n---\n\n# Sums\n",
        SHELL_FILE: f"echo {SAYS}\n",
        "scripts/sum.py": f"{SCRIPT}\n",
    }
    for name, text in scripts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder
