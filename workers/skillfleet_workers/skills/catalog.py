"""The skills of one folder, read afresh whenever they change."""

import errno
import os
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..wire.contract import ToolError
from ..wire.shown import is_text, short
from .models import Skill, Skipped
from .paths import SKIPPED_FOLDERS
from .problems import Problem
from .reading import documents, read_skill

NAMED_SKILLS = 100
"""Most names that a correction lists."""

_Stamp = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Known:
    """What was read last, and the stamps under which it holds."""

    folder: Path
    folder_stamp: _Stamp
    documents: tuple[str, ...]
    documents_stamp: tuple[_Stamp, ...]
    result: Skill | Skipped


class SkillCatalog:
    """Every folder directly under `root` is a skill, but for hidden ones and those of tools."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: dict[str, _Known] = {}

    def list(self, allowed: Collection[str] | None = None) -> tuple[Skill, ...]:
        """Sorted by name; `allowed` None: all."""
        found = (entry for entry in self._scan() if isinstance(entry, Skill))
        return tuple(skill for skill in found if allowed is None or skill.name in allowed)

    @property
    def skipped(self) -> Mapping[str, str]:
        """Folder name to the reason why it is no skill."""
        return {entry.name: entry.reason for entry in self._scan() if isinstance(entry, Skipped)}

    def find(self, name: str, allowed: Collection[str] | None = None) -> Skill | ToolError:
        if not name or ".." in name or any(c in name for c in "/\\\0") or not is_text(name):
            return ToolError(
                error="invalid_skill_name",
                message=f"{short(name)!r} is no name of a skill.",
                fix="Use a name exactly as list_skills gives it.",
            )
        may_use = (allowed is None or name in allowed) and _is_candidate(name)
        found = self._look(Path(os.path.realpath(self._root)), name) if may_use else None
        if isinstance(found, Skill):
            return found
        if isinstance(found, Skipped):
            return ToolError(
                error="skill_not_readable",
                message=f"The skill {short(name)!r} cannot be used: {found.reason}.",
                fix="Use another skill, or tell the user what is wrong with this one.",
            )
        return self._unknown(name, allowed)

    def _unknown(self, name: str, allowed: Collection[str] | None) -> ToolError:
        names = [skill.name for skill in self.list(allowed)]
        more = f" and {len(names) - NAMED_SKILLS} more" if len(names) > NAMED_SKILLS else ""
        listed = ", ".join(names[:NAMED_SKILLS])
        return ToolError(
            error="unknown_skill",
            message=f"There is no skill {short(name)!r}.",
            fix=f"Use one of: {listed}{more}" if names else "There are no skills: answer without them.",
        )

    def _scan(self) -> tuple[Skill | Skipped, ...]:
        root = Path(os.path.realpath(self._root))
        try:
            names = sorted(entry.name for entry in root.iterdir() if _is_candidate(entry.name))
        except (FileNotFoundError, NotADirectoryError):
            return ()
        self._known = {name: known for name in names if (known := self._known.get(name))}
        return tuple(found for name in names if (found := self._look(root, name)))

    def _look(self, root: Path, name: str) -> Skill | Skipped | None:
        try:
            return self._refreshed(root, name)
        except FileNotFoundError:
            return None
        except OSError as failed:
            if failed.errno == errno.ENAMETOOLONG:
                return None
            return _skipped(name, f"its folder cannot be read: {failed.strerror}")

    def _refreshed(self, root: Path, name: str) -> Skill | Skipped | None:
        if not is_text(name):
            return _skipped(os.fsencode(name).decode("utf-8", "replace"), "its name is not UTF-8")
        folder = root / name
        status = folder.lstat()
        if stat.S_ISLNK(status.st_mode):
            folder, status = Path(os.path.realpath(folder, strict=True)), folder.stat()
            if root not in folder.parents:
                return _skipped(name, "it is a symlink out of the skills folder")
        if not stat.S_ISDIR(status.st_mode):
            return None
        known = self._known.get(name)
        if known is None or not _still_holds(known, folder, status):
            # Stamped before it is read: a change in between is then seen the next time.
            names = documents(folder)
            stamps = _documents_stamp(folder, names)
            known = _Known(folder, _stamp(status), names, stamps, read_skill(root / name))
            self._known[name] = known
        return known.result


def _skipped(name: str, why: str) -> Skipped:
    return Skipped(name, Path(name), (Problem("unreadable", why, "", "."),))


def _still_holds(known: _Known, folder: Path, status: os.stat_result) -> bool:
    return (
        known.folder == folder
        and known.folder_stamp == _stamp(status)
        and known.documents_stamp == _documents_stamp(folder, known.documents)
    )


def _is_candidate(name: str) -> bool:
    return name not in SKIPPED_FOLDERS and not name.startswith(".")


def _stamp(status: os.stat_result) -> _Stamp:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _documents_stamp(folder: Path, names: tuple[str, ...]) -> tuple[_Stamp, ...]:
    try:
        return tuple(_stamp((folder / name).stat()) for name in names)
    except OSError:
        return ()
