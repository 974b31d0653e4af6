"""Skill folders on disk, made for a test."""

import os
from collections.abc import Mapping
from pathlib import Path

from skillfleet_workers.skills.models import Skill


def write_skill(folder: Path, files: Mapping[str, str | bytes]) -> Skill:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    folder.mkdir(parents=True, exist_ok=True)
    return Skill(folder.name, Path(os.path.realpath(folder)))
