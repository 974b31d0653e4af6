"""The commands for skills, run in this process: what they print and the code that they end with."""

import json
import os
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from skillfleet_workers.skills_cli import run


@dataclass(frozen=True, slots=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True, slots=True)
class Workplace:
    """A working folder with a skills folder, and the commands in it."""

    folder: Path
    capture: pytest.CaptureFixture[str]

    @property
    def skills(self) -> Path:
        return self.folder / "skills"

    def __call__(self, *arguments: str) -> Done:
        with chdir(self.folder):
            code = run(arguments, "skills")
        printed = self.capture.readouterr()
        return Done(code if isinstance(code, int) else 0, printed.out, printed.err)

    def inside(self) -> list[str]:
        """Of the skills folder, but for the file that is held while it is changed."""
        return sorted(name for name in os.listdir(self.skills) if name != ".skills.lock.held")  # noqa: PTH208


def workplace(folder: Path, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]) -> Workplace:
    """Nothing of the developer's own settings."""
    for name in list(os.environ):
        if name.startswith(("SKILLFLEET_", "SKILLS_", "LLM_", "SCRIPT_", "XDG_")):
            patch.delenv(name)
    patch.setenv("HOME", str(folder))
    patch.setenv("SKILLFLEET_STATE_DIR", str(folder / "state"))
    made = Workplace(folder, capture)
    made.skills.mkdir()
    return made
