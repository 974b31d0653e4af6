"""The registry file of a root (seed 002): skills.yaml, skills.yml or skills.json, a list of records."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .problems import Problem

FILES = ("skills.yaml", "skills.yml", "skills.json")


@dataclass(frozen=True, slots=True)
class Records:
    """`found`: each record with its skill's folder, as the files list them. `problems` are the files'."""

    found: tuple[tuple[Path, Mapping[str, Any]], ...] = ()
    problems: tuple[Problem, ...] = ()


def read_records(root: Path) -> Records:
    return Records()
