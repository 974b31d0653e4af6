"""What lies directly in the folders of a root, listed again only where they have changed."""

import os
import stat
from dataclasses import dataclass

from .paths import SKIPPED_FOLDERS
from .reading import marks_skill
from .stamps import Stamp, settled, stamp_of

VENV = "pyvenv.cfg"


@dataclass(frozen=True, slots=True)
class Listing:
    """`marked`: it is a skill, and what lies in it is its own matter. Names are sorted."""

    stamp: Stamp
    marked: bool
    folders: tuple[str, ...] = ()
    links: tuple[str, ...] = ()


class Listings:
    """Those that were not asked for between two calls of `forget_others` are forgotten."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Listing, bool]] = {}
        self._asked: dict[str, tuple[Listing, bool]] = {}

    def of(self, folder: str, *, is_root: bool = False) -> Listing:
        """A root is no skill, whatever lies in it.

        Raises:
            NotADirectoryError: it is no folder, or a symlink.
            OSError
        """
        status = os.lstat(folder)
        if not stat.S_ISDIR(status.st_mode):
            raise NotADirectoryError
        stamp = stamp_of(status)
        known = self._known.get(folder)
        if known is None or not known[1] or known[0].stamp != stamp:
            # Stamped before it is listed: a change in between is then seen the next time.
            known = _listed(folder, stamp, is_root), settled(stamp)
        self._asked[folder] = known
        return known[0]

    def forget_others(self) -> None:
        self._known, self._asked = self._asked, {}


def _listed(folder: str, stamp: Stamp, is_root: bool) -> Listing:
    with os.scandir(folder) as entries:
        listed = sorted(entries, key=lambda entry: entry.name)
    names = [entry.name for entry in listed]
    if not is_root and marks_skill(names):
        return Listing(stamp, marked=True)
    if not is_root and VENV in names:
        return Listing(stamp, marked=False)
    inner = [entry for entry in listed if may_hold_skills(entry.name)]
    return Listing(
        stamp,
        marked=False,
        folders=tuple(entry.name for entry in inner if entry.is_dir(follow_symlinks=False)),
        links=tuple(entry.name for entry in inner if entry.is_symlink()),
    )


def may_hold_skills(name: str) -> bool:
    return name not in SKIPPED_FOLDERS and not name.startswith(".")
