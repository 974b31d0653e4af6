"""A program of a peer's in an environment of its own, in a process that stays."""

import subprocess
from pathlib import Path
from typing import Self

from skillfleet_workers.environments.build import Environments
from skillfleet_workers.skills.models import Skill


class PeerMissingError(Exception):
    """It could not be installed, or does not start. The message says why."""


class Peer:
    """It answers each line that it is asked with a number; its first line is `ready VERSION`."""

    def __init__(
        self, environments: Environments, folder: Path, name: str, requirement: str, program: Path, *arguments: object
    ) -> None:
        """Raises: PeerMissingError."""
        found = environments.interpreter_for(Skill(name, folder, requirements=(requirement,)))
        if not isinstance(found, Path):
            raise PeerMissingError(found.message)
        self._log = folder / f"{name}.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [found, "-P", program, *map(str, arguments)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        self.version = self._answer().removeprefix("ready ")

    def ask(self, line: str) -> float:
        assert self._process.stdin
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return float(self._answer())

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.communicate()

    def _answer(self) -> str:
        assert self._process.stdout
        line = self._process.stdout.readline().strip()
        if not line:
            self._process.wait()
            raise PeerMissingError(f"its process has ended: {(self._log.read_text().splitlines() or ['?'])[-1]}")
        return line

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
