"""Builders that race, hang and die."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
from tests.workers.archives import source_archive, wheel
from tests.workers.environment_checks import (
    BUILD_IN_A_PROCESS,
    built,
    error_of,
    leftovers,
    output,
    wait_until,
    waits_for_a_lock,
)
from tests.workers.skill_folders import write_skill

from skillfleet_workers.environments.build import Environments
from skillfleet_workers.skills.models import Skill

WHEEL = "demo-1.0-py3-none-any.whl"

COUNTING_BACKEND = """
import os, shutil, sys, time
def build_wheel(directory, config_settings=None, metadata_directory=None):
    with open({log!r}, "a") as log:
        log.write(f"{{os.getpid()}}\\n")
    while not os.path.exists({go!r}):
        time.sleep(0.01)
    shutil.copy({wheel!r}, directory)
    return os.path.basename({wheel!r})
"""


class SlowSkill:
    """A skill whose one package says when its build begins and ends only when told."""

    def __init__(self, tmp_path: Path) -> None:
        self.go, self._log = tmp_path / "go", tmp_path / "builds"
        made = tmp_path / WHEEL
        made.write_bytes(wheel("demo", {"demo.py": "ANSWER = 42"}))
        backend = COUNTING_BACKEND.format(log=str(self._log), go=str(self.go), wheel=str(made))
        archive = "demo-1.0.tar.gz"
        files = {"requirements.txt": archive.encode(), archive: source_archive("demo", backend)}
        self.skill = write_skill(tmp_path / "calc", files)

    @property
    def builders(self) -> list[int]:
        """Process ids, one for each build that began."""
        return [int(line) for line in self._log.read_text().splitlines()] if self._log.exists() else []


def builder_process(environments: Path, skill: Skill) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", BUILD_IN_A_PROCESS, str(environments), str(skill.root)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_callers_in_threads_and_processes_build_once(tmp_path: Path) -> None:
    slow, folder = SlowSkill(tmp_path), tmp_path / "environments"
    environments = Environments(folder)
    with ThreadPoolExecutor(4) as threads:
        calls = [threads.submit(environments.interpreter_for, slow.skill, None) for _ in range(4)]
        processes = [builder_process(folder, slow.skill) for _ in range(2)]
        wait_until(lambda: slow.builders)
        wait_until(lambda: all(waits_for_a_lock(process.pid, folder) for process in processes))
        slow.go.touch()
        interpreters = {str(built(call.result(60))) for call in calls}
    interpreters |= {process.communicate(timeout=60)[0].strip() for process in processes}
    assert len(interpreters) == 1
    assert len(slow.builders) == 1
    assert output(Path(interpreters.pop()), "import demo; print(demo.ANSWER)") == "42"
    assert not leftovers(folder)


def test_after_a_builder_is_killed_the_next_one_builds(tmp_path: Path) -> None:
    slow, folder = SlowSkill(tmp_path), tmp_path / "environments"
    victim = builder_process(folder, slow.skill)
    wait_until(lambda: slow.builders)
    assert victim.poll() is None
    victim.kill()
    victim.wait()
    assert leftovers(folder)
    assert not list(folder.glob("*/bin/python"))
    slow.go.touch()
    interpreter = Environments(folder).interpreter_for(slow.skill, None)
    assert output(interpreter, "import demo; print(demo.ANSWER)") == "42"
    assert len(slow.builders) == 2
    assert not leftovers(folder)
    wait_until(lambda: not psutil.pid_exists(slow.builders[0]))


def test_a_build_that_takes_too_long_is_dead_and_leaves_nothing(tmp_path: Path) -> None:
    slow, folder = SlowSkill(tmp_path), tmp_path / "environments"
    environments = Environments(folder, build_timeout_s=4)
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(environments.interpreter_for, slow.skill, None)
        wait_until(lambda: slow.builders)
        assert psutil.pid_exists(slow.builders[0])
        failed = error_of(call.result(60))
    assert failed.error == "environment_build_failed"
    assert "longer than 4 s" in failed.message
    wait_until(lambda: not psutil.pid_exists(slow.builders[0]))
    assert not leftovers(folder)
    assert not list(folder.glob("*/bin/python"))
