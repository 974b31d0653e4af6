"""A skill whose environment is built for as long as a test wants."""

import subprocess
import sys
from pathlib import Path

from tests.workers.archives import source_archive, wheel
from tests.workers.environment_checks import BUILD_IN_A_PROCESS
from tests.workers.skill_folders import write_skill

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

    def __init__(self, tmp_path: Path, folder: str = "calc") -> None:
        self.go, self._log = tmp_path / "go", tmp_path / "builds"
        made = tmp_path / WHEEL
        made.write_bytes(wheel("demo", {"demo.py": "ANSWER = 42"}))
        backend = COUNTING_BACKEND.format(log=str(self._log), go=str(self.go), wheel=str(made))
        archive = "demo-1.0.tar.gz"
        files = {"requirements.txt": archive.encode(), archive: source_archive("demo", backend)}
        self.skill = write_skill(tmp_path / folder, files)

    @property
    def builders(self) -> list[int]:
        """Process ids, one for each build that began."""
        return [int(line) for line in self._log.read_text().splitlines()] if self._log.exists() else []


def builder_process(environments: Path, skill: Skill) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", BUILD_IN_A_PROCESS, str(environments), str(skill.root)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
