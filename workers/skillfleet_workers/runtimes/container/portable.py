"""The worker's Python as any image can run it, whether or not it has one: with its own C library and loader."""

import _ctypes
import re
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ...python import base_interpreter
from ..base import RuntimeUnavailableError
from ..sandbox import PROGRAM
from .hardening import Shown

PYTHON = f"{PROGRAM}/python"
NEEDED = re.compile(r"(\S+) => (/\S+)")
"""As the loader lists it: what is asked for, and where that is."""

UNSET = {"LD_PRELOAD": "", "LD_LIBRARY_PATH": ""}
"""What an image may have set for programs of its own."""


@dataclass(frozen=True, slots=True)
class Portable:
    command: tuple[str, ...]
    shown: tuple[Shown, ...]


@cache
def portable_python() -> Portable:
    """Raises: RuntimeUnavailableError: this worker's Python is tied to its place."""
    loader, interpreter = _loader(), base_interpreter()
    libraries: dict[str, str] = {}
    for file in (str(interpreter), getattr(_ctypes, "__file__", None)):
        if file:
            libraries |= NEEDED.findall(_listed(loader, file))
    library = Path(sysconfig.get_path("stdlib"))
    shown = {
        f"{PYTHON}/loader": loader,
        f"{PYTHON}/bin/python3": interpreter,
        f"{PYTHON}/{sys.platlibdir}/{library.name}": library,
        **{f"{PYTHON}/so/{name}": Path(path) for name, path in libraries.items() if "/" not in name},
    }
    command = f"{PYTHON}/loader", "--library-path", f"{PYTHON}/so", f"{PYTHON}/bin/python3", "-E", "-s", "-S"
    return Portable(command, tuple(Shown(source, Path(target)) for target, source in shown.items()))


def _loader() -> Path:
    """The one that has loaded this process."""
    try:
        maps = Path("/proc/self/maps").read_text().splitlines()
        return next(path for line in maps if (path := Path(line.split()[-1])).name.startswith("ld-"))
    except (OSError, StopIteration) as missing:
        raise RuntimeUnavailableError(
            "the worker's Python has no loader that could be shown to an image"
        ) from missing


def _listed(loader: Path, file: str) -> str:
    try:
        return subprocess.run([loader, "--list", file], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as refused:
        raise RuntimeUnavailableError(f"what {file} needs cannot be listed: {refused}") from refused
