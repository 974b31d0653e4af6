"""Skill folders read, and read again only when they have changed."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from .discovery import Found
from .models import NO_VERSION, Scope, Skill, Skipped
from .problems import Problem
from .reading import documents, read_skill
from .stamps import Stamp, settled, stamp_of
from .versions import split


@dataclass(frozen=True, slots=True)
class _Known:
    """What was read last, and the stamps under which it holds."""

    found: Found
    document_stamps: tuple[tuple[str, Stamp], ...]
    result: Skill | Skipped
    is_settled: bool

    def holds(self, found: Found) -> bool:
        return (
            self.is_settled
            and self.found == found
            and all(_stamp(found.folder, name) == stamp for name, stamp in self.document_stamps)
        )


class Readings:
    def __init__(self, scope: Scope) -> None:
        self._scope: Scope = scope
        self._known: dict[str, _Known] = {}

    def of(self, found: Iterable[Found]) -> list[Skill | Skipped]:
        """What is gone meanwhile is left out. Others than these are forgotten."""
        self._known = {each.place: known for each in found if (known := self._current(each))}
        return [known.result for known in self._known.values()]

    def _current(self, found: Found) -> _Known | None:
        known = self._known.get(found.place)
        if known is not None and known.holds(found):
            return known
        try:
            # Stamped before it is read: a change in between is then seen the next time.
            stamps = tuple((name, _stamp(found.folder, name)) for name in documents(found.folder))
            result = read_named(found.folder, found.place.rpartition("/")[2], self._scope)
        except FileNotFoundError:
            return None
        except OSError as failed:
            stamps, result = (), _unreadable(found, failed)
        if known is not None and known.result == result:
            result = known.result
        is_settled = settled(found.stamp) and all(settled(stamp) for _, stamp in stamps)
        return _Known(found, stamps, result, is_settled)


def read_named(folder: Path, given: str, scope: Scope = "project") -> Skill | Skipped:
    """As it is called where it was found: `name`, or `name@1.2.0`, where the version is not in its files."""
    name, version = split(given)
    read = replace(read_skill(folder, scope=scope), name=name)
    if isinstance(read, Skipped) or not version or read.version == version:
        return read
    problems = read.problems
    if read.version != NO_VERSION:
        message = f"the version in its files is {read.version!r}, the folder's is {version!r}; the folder's holds"
        problems += (Problem("version-differs", message, "Make them equal.", read.documentation or "."),)
    return replace(read, version=version, problems=problems)


def _stamp(folder: Path, document: str) -> Stamp:
    try:
        return stamp_of((folder / document).stat())
    except OSError:
        return ()


def _unreadable(found: Found, failed: OSError) -> Skipped:
    why = f"its folder cannot be read: {failed.strerror}"
    name, _ = split(found.place.rpartition("/")[2])
    return Skipped(
        name, found.folder, (Problem("unreadable", why, "Let the worker read it.", ".", severity="error"),)
    )
