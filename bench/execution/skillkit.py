"""A peer: seed 001's published library, in an environment of its own."""

import os
import subprocess
from pathlib import Path
from typing import Self

from skillfleet_workers.environments.build import Environments
from skillfleet_workers.skills.models import Skill

CHILD = Path(__file__).with_name("skillkit_child.py")
REQUIREMENTS = ("skillkit", "aiofiles")
"""It imports the second without declaring it."""


class SkillkitMissingError(Exception):
    """It could not be installed, or does not start. The message says why."""


class Skillkit:
    """Its import is not counted: the process that holds it stays."""

    def __init__(self, environments: Environments, interpreter: Path, skill: Path, script: str) -> None:
        """`interpreter` is the one that its scripts find on PATH. Raises: SkillkitMissingError."""
        found = environments.interpreter_for(Skill("skillkit", skill, requirements=REQUIREMENTS))
        if not isinstance(found, Path):
            raise SkillkitMissingError(found.message)
        path = f"{interpreter.parent}:{os.environ.get('PATH', os.defpath)}"
        self._process = subprocess.Popen(
            [found, "-P", CHILD, skill.parent, skill.name, script],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | {"PATH": path}, text=True,
        )  # fmt: skip
        if self._answer() != "ready":
            self._process.wait()
            raise SkillkitMissingError("its process does not start")

    def run(self) -> str:
        """What the script has printed."""
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().strip()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()
