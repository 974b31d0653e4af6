"""Runs the skills that ship as a worker does, each in the environment that a worker builds for it."""

import csv
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SKILLS = Path(__file__).parents[3] / "skills"
NAMES = ("bike-share", "calculator", "charts", "csv-insights", "text-report", "trip-planner")
IRIS = SKILLS / "csv-insights" / "data" / "iris.csv"


@dataclass(frozen=True)
class Bench:
    """Runs a skill as a worker does: its root as the working directory and on PYTHONPATH, a clean environment."""

    interpreters: dict[str, Path]
    output: Path
    home: Path

    def run(self, skill: str, *arguments: str, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        root = str(SKILLS / skill)
        environment = {
            "PATH": os.defpath,
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "PYTHONPATH": root,
            "PYTHONDONTWRITEBYTECODE": "1",
            "SKILLFLEET_OUTPUT_DIR": str(self.output),
        } | more
        command = [str(self.interpreters[skill]), *arguments]
        return subprocess.run(
            command, cwd=root, env=environment, input=stdin, capture_output=True, text=True, timeout=60, check=False
        )

    def python(self, skill: str, code: str) -> Any:
        """What the code prints last, read as JSON."""
        done = self.run(skill, "-", stdin=code)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    def refusal(self, skill: str, *arguments: str, stdin: str = "") -> str:
        done = self.run(skill, *arguments, stdin=stdin)
        assert (done.returncode, done.stdout) == (1, "")
        assert len(done.stderr.splitlines()) == 1
        return done.stderr


def iris(column: str, species: str = "") -> list[float]:
    with IRIS.open(newline="") as file:
        return [float(row[column]) for row in csv.DictReader(file) if species in ("", row["species"])]
