"""Real fleets for tests: a place of their own, real processes, and the proof that nothing of them is left."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import psutil
import pytest
from tests.system.replies import SKILL, Turn, write_script
from tests.workers.skill_folders import write_skill

from skillfleet.catalogs import FRESH_S
from skillfleet.fleet import Fleet
from skillfleet.settings import OrchestratorSettings
from skillfleet_workers.wire.connection import RedisUrls, load_settings
from skillfleet_workers.wire.presence import live_processes
from skillfleet_workers.wire.snapshots import Snapshots

COMMAND = (sys.executable, "-m", "skillfleet")
PATIENCE_S = 60.0
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

    def rewrite(self, path: Path, text: str) -> None:
        """All at once, too: emptied first, it could be taken for a state of the skill."""
        aside = self.folder / "aside" / path.name
        aside.parent.mkdir(exist_ok=True)
        aside.write_text(text)
        aside.rename(path)

    def add_skill(self, name: str, files: Mapping[str, str] | Path, links: Mapping[str, Path] | None = None) -> Path:
        """All at once, as an operator does: a worker that looks meanwhile would take a part of it for the whole.
        `files`: by their paths, or a folder to copy; `links`: to what, by their names."""
        aside = self.folder / "aside" / name
        if isinstance(files, Path):
            shutil.copytree(files, aside)
        else:
            write_skill(aside, files)
        for link, target in (links or {}).items():
            (aside / link).symlink_to(target)
        return aside.rename(self.skills / name)

    @property
    def state_dir(self) -> Path:
        return self.folder / "state"

    @property
    def socket(self) -> Path:
        return self.state_dir / "redis" / "redis.sock"

    def environment(self, env: Mapping[str, str] | None = None) -> dict[str, str]:
        """Nothing of the developer's own settings."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "SKILLFLEET_STATE_DIR": str(self.state_dir),
            "SKILLS_FOLDER_PATH": str(self.skills),
            **self.variables,
            **(env or {}),
        }

    def cli(
        self, *arguments: str, env: Mapping[str, str] | None = None, stdin: str = "", timeout: float = 90
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *arguments],
            cwd=self.folder, env=self.environment(env), input=stdin,
            capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip

    def start(
        self, *arguments: str, module: str = "skillfleet", env: Mapping[str, str] | None = None
    ) -> "subprocess.Popen[str]":
        """In the background; its stderr goes to a log in the folder."""
        with (self.folder / f"{arguments[0]}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                cwd=self.folder, env=self.environment(env), stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True,
            )  # fmt: skip

    def log(self, command: str) -> str:
        return (self.folder / f"{command}.log").read_text()

    def script(self, *turns: Turn, children: Mapping[str, Sequence[Turn]] | None = None) -> str:
        """A model that plays these turns; `children`: those of the conversations that skills begin."""
        return f"scripted:{write_script(self.folder, turns, children)}"

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
        """Every process that works in this place (redis), or has it in its environment (scripts: their home)."""
        return [process for process in psutil.process_iter() if _lives_in(process, str(self.folder))]

    def commands(self, word: str) -> list[psutil.Process]:
        """Those of this name, or with this argument."""
        return [process for process in self.living() if word in words_of(process)]

    def end(self) -> list[str]:
        """Kill what is left; the command lines of it."""
        left = self.living()
        told = [" ".join(words) for process in left if (words := words_of(process))]
        for process in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(left, PATIENCE_S)
        return told


def _lives_in(process: psutil.Process, folder: str) -> bool:
    try:
        places = (process.cwd(), *process.environ().values())
        return any(place.startswith(folder) for place in places)
    except (psutil.Error, OSError):  # OSError: a stranger's folder with too long a name
        return False


def words_of(process: psutil.Process) -> list[str]:
    """Its name and its arguments; none when it has just ended."""
    try:
        return [process.name(), *process.cmdline()]
    except psutil.Error:
        return []


@contextmanager
def running_fleet(
    place: Place, *, workers: int = 2, concurrency: int = 1, env: Mapping[str, str] | None = None
) -> Iterator[list["subprocess.Popen[str]"]]:
    """An orchestrator and workers as an operator starts them, on the redis of the place's variables."""
    serving = [("worker", "--concurrency", str(concurrency))] * workers
    started = [place.start("orchestrator", env=env)]
    started += [place.start(*arguments, module="skillfleet_workers", env=env) for arguments in serving]
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
        ended = [_ends(process) for process in started]
    assert all(ended), "it did not end when asked to"


def state_of(place: Place, skill: str) -> str:
    """The digest that all workers have published of it; empty: not yet all, or not the same."""
    client = RedisUrls.of(place.settings).client()
    workers = [one for one in live_processes(client, place.settings.fleet) if one.role == "worker"]
    told = [Snapshots(client, 3600).read(one.snapshot) for one in workers]
    found = {skill.digest if skill else "" for skill in (one.find(skill) if one else None for one in told)}
    return found.pop() if len(found) == 1 else ""


def wait_until_known(place: Place, *skills: str, other_than: str = "") -> None:
    """To whoever begins from now on, in one state; `other_than`: the state before."""
    not_yet = ("", other_than)
    wait_for(lambda: all(state_of(place, one) not in not_yet for one in skills), "all workers know the skills")
    known_at = time.monotonic()
    wait_for(lambda: time.monotonic() - known_at >= FRESH_S, "no orchestrator remembers how it was before")


def _ends(process: "subprocess.Popen[str]") -> bool:
    with process:
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            return False
    return True


def _ended(processes: Sequence["subprocess.Popen[str]"]) -> bool:
    return any(process.poll() is not None for process in processes)


def interrupt(process: "subprocess.Popen[str]", number: signal.Signals = signal.SIGINT) -> int:
    """Its exit code."""
    process.send_signal(number)
    with process:
        return process.wait(PATIENCE_S)
