"""A warm runtime, environments with modules of their own, and a view of what is being started."""

import subprocess
import sys
from pathlib import Path

import psutil

from skillfleet_workers.runtimes.cgroups import Cgroups, find_cgroups
from skillfleet_workers.runtimes.isolation import sandbox_user
from skillfleet_workers.runtimes.warm.runtime import WarmRuntime

TOLD_TO_GO = """
import os, time
while not os.path.exists(os.path.join(os.path.dirname(__file__), "go")):
    time.sleep(0.005)
"""
"""A module whose import hangs until a file beside it appears."""


def make(budget_mb: int = 1024, **more: float) -> WarmRuntime:
    found = find_cgroups()
    return WarmRuntime(found if isinstance(found, Cgroups) else None, sandbox_user(), budget_mb, **more)


def environment_with(folder: Path, name: str, text: str) -> Path:
    """The interpreter of a new environment that has one module, or one .pth file."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (packages_of(folder / "bin" / "python") / name).write_text(text)
    return folder / "bin" / "python"


def packages_of(interpreter: Path) -> Path:
    (packages,) = interpreter.parent.parent.glob("lib/python*/site-packages")
    return packages


def living(interpreter: Path) -> bool:
    """Whether a warm interpreter of that environment is up or on its way."""
    wanted = [str(interpreter), "-m", "inside"]
    commands = (process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"]))
    return any(command[:3] == wanted for command in commands)
