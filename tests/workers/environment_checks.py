"""What the tests of environments ask of one, and of a builder in a process of its own."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from skillfleet_workers.wire.contract import ToolError

BUILD_IN_A_PROCESS = """
import sys
from pathlib import Path
from skillfleet_workers.environments.build import Environments
from skillfleet_workers.skills.models import Skill
print(Environments(Path(sys.argv[1])).interpreter_for(Skill("calc", Path(sys.argv[2]))))
"""


def built(interpreter: Path | ToolError) -> Path:
    assert isinstance(interpreter, Path), interpreter
    return interpreter


def error_of(interpreter: Path | ToolError) -> ToolError:
    assert isinstance(interpreter, ToolError), interpreter
    return interpreter


def output(interpreter: Path | ToolError, code: str) -> str:
    command = [str(built(interpreter)), "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True, env={}, timeout=60).stdout.strip()


def leftovers(environments: Path) -> list[Path]:
    return list(environments.glob("*.tmp"))


def working_on(environments: Path) -> list[psutil.Process]:
    """What builds there, by its command line; without the test and builders that say the folder only."""
    said = f"{environments}/"
    processes = psutil.process_iter(["cmdline"])
    return [p for p in processes if p.pid != os.getpid() and any(said in part for part in p.info["cmdline"] or ())]


def lives(pid: int) -> bool:
    """Not where it only waits for an init that takes its time to reap."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def waits_for_a_lock(pid: int, environments: Path) -> bool:
    return any(file.path.startswith(f"{environments}/.locks/") for file in psutil.Process(pid).open_files())


def wait_until(condition: Callable[[], object], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.01)
