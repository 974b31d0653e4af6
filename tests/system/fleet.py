"""Real fleets for tests: a place of their own, real processes, and the proof that nothing of them is left."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import psutil
import pytest
from tests.system.replies import SKILL, Turn, write_script

from skillfleet.fleet import Fleet
from skillfleet.settings import OrchestratorSettings
from skillfleet_workers.wire.connection import RedisUrls, load_settings
from skillfleet_workers.wire.presence import live_processes

PATIENCE_S = 40.0
"""How long a test waits for a condition: far beyond what it takes, on a busy machine too."""

Found = TypeVar("Found")


def wait_for(look: Callable[[], Found], what: str, seconds: float = PATIENCE_S) -> Found:
    """What `look` finds, once it finds something."""
    give_up = time.monotonic() + seconds
    while not (found := look()):
        if time.monotonic() > give_up:
            pytest.fail(f"not within {seconds:g} s: {what}")
        time.sleep(0.02)
    return found


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@dataclass(frozen=True, slots=True)
class Place:
    """A working folder with one skill, a state folder, and the whole environment of what runs there."""

    folder: Path
    variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        (self.skills / "lab").mkdir(parents=True, exist_ok=True)
        (self.skills / "lab" / "SKILL.md").write_text(SKILL)

    @property
    def skills(self) -> Path:
        return self.folder / "skills"

    @property
    def state_dir(self) -> Path:
        return self.folder / "state"

    @property
    def socket(self) -> Path:
        return self.state_dir / "redis" / "redis.sock"

    def environment(self, **variables: str) -> dict[str, str]:
        """Nothing of the developer's own settings."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "SKILLFLEET_STATE_DIR": str(self.state_dir),
            "SKILLS_FOLDER_PATH": str(self.skills),
            **self.variables,
            **variables,
        }

    def cli(
        self, *arguments: str, stdin: str = "", timeout: float = 90, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "skillfleet", *arguments],
            cwd=self.folder, env=self.environment(**variables), input=stdin,
            capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip

    def start(self, *arguments: str, module: str = "skillfleet", **variables: str) -> "subprocess.Popen[str]":
        """In the background; its stderr goes to a log in the folder."""
        with (self.folder / f"{arguments[0]}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                cwd=self.folder, env=self.environment(**variables), stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True,
            )  # fmt: skip

    def log(self, command: str) -> str:
        return (self.folder / f"{command}.log").read_text()

    def script(self, *turns: Turn) -> str:
        """A model that plays these turns."""
        return f"scripted:{write_script(self.folder, turns)}"

    @property
    def settings(self) -> OrchestratorSettings:
        redis_url = self.variables.get("SKILLFLEET_REDIS_URL")
        return load_settings(
            OrchestratorSettings, state_dir=self.state_dir, skills_folder=self.skills, redis_url=redis_url
        )

    def fleet(self) -> Fleet:
        """The Python API on what runs here."""
        return Fleet(self.settings)

    def living(self) -> list[psutil.Process]:
        """Every process that has anything of this place in its environment: scripts have their home in it."""
        return [process for process in psutil.process_iter() if _names(process, str(self.folder))]

    def commands(self, word: str) -> list[psutil.Process]:
        return [process for process in self.living() if word in _arguments(process)]

    def end(self) -> list[str]:
        """Kill what is left; the command lines of it."""
        left = self.living()
        told = [" ".join(_arguments(process)) for process in left]
        for process in left:
            process.kill()
        psutil.wait_procs(left, PATIENCE_S)
        return told


def _names(process: psutil.Process, folder: str) -> bool:
    try:
        inside = any(value.startswith(folder) for value in process.environ().values())
        return inside and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _arguments(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@contextmanager
def running_fleet(
    place: Place, *, workers: int = 2, concurrency: int = 1, **variables: str
) -> Iterator[list["subprocess.Popen[str]"]]:
    """An orchestrator and workers as an operator starts them, on the redis of the place's variables."""
    serving = [("worker", "--concurrency", str(concurrency))] * workers
    started = [place.start("orchestrator", **variables)]
    started += [place.start(*arguments, module="skillfleet_workers", **variables) for arguments in serving]
    try:
        client = RedisUrls.of(place.settings).client()
        wait_for(
            lambda: len(live_processes(client, place.settings.fleet)) == 1 + workers or _ended(started),
            "an orchestrator and its workers are there",
        )
        assert not _ended(started), place.log("orchestrator") + place.log("worker")
        yield started
    finally:
        for process in started:
            process.send_signal(signal.SIGTERM)
        for process in started:
            with process:
                process.wait(PATIENCE_S)


def _ended(processes: Sequence["subprocess.Popen[str]"]) -> bool:
    return any(process.poll() is not None for process in processes)


def interrupt(process: "subprocess.Popen[str]", number: signal.Signals = signal.SIGINT) -> int:
    """Its exit code."""
    process.send_signal(number)
    with process:
        return process.wait(PATIENCE_S)
