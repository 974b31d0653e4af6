"""All that lies under one root."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .discovery import Discovery
from .models import Skill, Skipped
from .problems import Problem
from .readings import Readings, Record
from .records import FILES, Records, read_records
from .roots import Root
from .stamps import Stamp, settled, stamp_of


@dataclass(frozen=True, slots=True)
class Looked:
    read: tuple[Skill | Skipped, ...]
    problems: tuple[Problem, ...]


class Rooted:
    """Read again where it has changed."""

    def __init__(self, root: Root) -> None:
        self.root = root
        self._at = Path()
        self._start_over(Path(os.path.realpath(root.path)))

    def look(self) -> Looked:
        at = Path(os.path.realpath(self.root.path))
        if at != self._at:
            self._start_over(at)
        records = self._records_now()
        by_folder: dict[Path, list[Record]] = {}
        for folder, record in records.found:
            by_folder.setdefault(folder, []).append(record)
        discovered = self._discovery.look(by_folder.keys())
        read = self._readings.of(discovered.found, by_folder)
        return Looked((*read, *discovered.skips), (*records.problems, *discovered.problems))

    def _start_over(self, at: Path) -> None:
        self._at = at
        self._discovery = Discovery(at)
        self._readings = Readings(at, self.root.scope)
        self._records = Records()
        self._stamps: Mapping[str, Stamp] | None = None

    def _records_now(self) -> Records:
        stamps = {name: _stamp(self._at / name) for name in FILES}
        if stamps != self._stamps:
            self._records = read_records(self._at)
            self._stamps = stamps if all(settled(stamp) for stamp in stamps.values()) else None
        return self._records


def _stamp(file: Path) -> Stamp:
    try:
        return stamp_of(file.stat())
    except OSError:
        return ()
