"""Skill folders read, and read again only when they have changed."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..wire.versions import split
from .discovery import Found
from .models import Scope, Skill, Skipped
from .problems import Problem
from .reading import documents, read_skill
from .stamps import Stamp, settled, stamp_of

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Known:
    """What was read last, and the stamps under which it holds."""

    found: Found
    record: Record | None
    document_stamps: tuple[tuple[str, Stamp], ...]
    result: Skill | Skipped
    is_settled: bool

    def holds(self, found: Found, record: Record | None) -> bool:
        return (
            self.is_settled
            and self.found == found
            and self.record == record
            and all(_stamp(file) == stamp for file, stamp in self.document_stamps)
        )


class Readings:
    """Of the skills under one root."""

    def __init__(self, root: Path, scope: Scope) -> None:
        self._root = root
        self._scope: Scope = scope
        self._known: dict[tuple[str, int], _Known] = {}

    def of(self, found: Iterable[Found], records: Mapping[Path, Sequence[Record]]) -> list[Skill | Skipped]:
        """What is gone meanwhile is left out. Others than these are forgotten."""
        self._known = dict(self._refreshed(found, records))
        return [known.result for known in self._known.values()]

    def _refreshed(
        self, found: Iterable[Found], records: Mapping[Path, Sequence[Record]]
    ) -> Iterator[tuple[tuple[str, int], _Known]]:
        for each in found:
            for number, record in enumerate(records.get(each.folder, (None,))):
                key = each.place, number
                known = self._known.get(key)
                if known and known.holds(each, record):
                    yield key, known
                elif fresh := self._read(each, record):
                    same = known is not None and known.result == fresh.result
                    yield key, replace(fresh, result=known.result) if known and same else fresh

    def _read(self, found: Found, record: Record | None) -> _Known | None:
        result: Skill | Skipped
        try:
            # Stamped before it is read: a change in between is then seen the next time.
            stamps = tuple(
                (file, _stamp(file)) for name in documents(found.folder) for file in [f"{found.folder}/{name}"]
            )
            result = read_skill(self._root / found.place, scope=self._scope, record=record)
        except FileNotFoundError:
            return None
        except OSError as failed:
            stamps, result = (), _unreadable(found, failed)
        if result.root != found.folder:  # a symlink, swapped meanwhile
            return None
        is_settled = settled(found.stamp) and all(settled(stamp) for _, stamp in stamps)
        return _Known(found, record, stamps, result, is_settled)


def _stamp(document: str) -> Stamp:
    try:
        return stamp_of(os.stat(document))  # noqa: PTH116 - a Path for each would cost more than the look
    except OSError:
        return ()


def _unreadable(found: Found, failed: OSError) -> Skipped:
    why = f"its folder cannot be read: {failed.strerror}"
    name, _ = split(found.place.rpartition("/")[2])
    return Skipped(
        name, found.folder, (Problem("unreadable", why, "Let the worker read it.", ".", severity="error"),)
    )
