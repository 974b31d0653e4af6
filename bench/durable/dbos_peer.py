"""`dbos` in an environment of its own, in a process that stays."""

import subprocess
from pathlib import Path
from typing import Self

from skillfleet_workers.environments.build import Environments
from skillfleet_workers.skills.models import Skill

CHILD = Path(__file__).with_name("dbos_child.py")
REQUIREMENTS = ("dbos>=3.4,<4",)


class DbosMissingError(Exception):
    """It could not be installed, or does not start. The message says why."""


class Dbos:
    """Durable workflows on SQLite in `folder`, of `calls` tool calls each; so many of them at once."""

    def __init__(self, environments: Environments, folder: Path, calls: int, at_once: int) -> None:
        """Raises: DbosMissingError."""
        found = environments.interpreter_for(Skill("dbos", folder, requirements=REQUIREMENTS))
        if not isinstance(found, Path):
            raise DbosMissingError(found.message)
        self._log = folder / "dbos.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [found, "-P", CHILD, folder, str(calls), str(at_once)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        self.version = self._answer().removeprefix("ready ")

    def converse(self, count: int) -> float:
        """Seconds for so many, one after the other."""
        return self._ask(f"latency {count}")

    def queued(self, count: int) -> float:
        """Seconds from the first submission to the last answer of so many."""
        return self._ask(f"queued {count}")

    def _ask(self, line: str) -> float:
        assert self._process.stdin
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return float(self._answer())

    def _answer(self) -> str:
        assert self._process.stdout
        line = self._process.stdout.readline().strip()
        if not line:
            self._process.wait()
            raise DbosMissingError(f"its process has ended: {(self._log.read_text().splitlines() or ['?'])[-1]}")
        return line

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()
