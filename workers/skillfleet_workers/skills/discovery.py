"""Which folders under a root are skills."""

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ..wire.shown import is_text
from .listings import Listing, Listings
from .models import Skipped
from .problems import Problem
from .stamps import Stamp

MAX_LEVELS = 6
MAX_SKILLS = 2_000
MAX_FOLDERS = 20_000
"""Folders of a root that are looked into."""

OUTSIDE = "it is a symlink out of the skills folder"


@dataclass(frozen=True, slots=True)
class Found:
    """`folder` is resolved; `place` says where under the root it was come by, over symlinks too."""

    folder: Path
    place: str
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class Discovered:
    """Sorted by place."""

    found: tuple[Found, ...] = ()
    skips: tuple[Skipped, ...] = ()
    problems: tuple[Problem, ...] = ()


class Discovery:
    """A folder with a marking file, or a record, is a skill, and nothing further is looked for in it. So is a folder
    directly under the root without any, as long as there is no skill below it."""

    def __init__(self, root: Path) -> None:
        """`root` is resolved."""
        self._root = str(root)
        self._listings = Listings()
        self._found: dict[str, Found] = {}

    def look(self, recorded: Collection[Path] = ()) -> Discovered:
        """`recorded`: the folders that have records."""
        walk = _Walk(self._root, self._listings, {str(folder) for folder in recorded})
        walk.run()
        self._listings.forget_others()
        found = walk.skills()
        near = [each for each in found if each.place.count("/") < MAX_LEVELS]
        taken = near[:MAX_SKILLS]
        self._found = {each.place: self._as_found(each) for each in taken if is_text(each.place)}
        skips = [_skipped(each.place, "its name is not UTF-8") for each in taken if not is_text(each.place)]
        deep = [each for each in found if each.place.count("/") >= MAX_LEVELS]
        problems = _beyond(deep, near[MAX_SKILLS:], walk.unvisited)
        return Discovered(tuple(self._found.values()), (*skips, *walk.skips()), tuple(problems))

    def _as_found(self, folder: "_Folder") -> Found:
        known = self._found.get(folder.place)
        if known and known.stamp == folder.stamp and str(known.folder) == folder.path:
            return known
        return Found(Path(folder.path), folder.place, folder.stamp)


class _Folder(NamedTuple):
    path: str
    place: str
    stamp: Stamp


class _Walk:
    """First what really lies there, then what symlinks lead to: so each folder is walked once, and loops end."""

    def __init__(self, root: str, listings: Listings, recorded: Collection[str]) -> None:
        self._root, self._listings, self._recorded = root, listings, recorded
        self._visited: set[str] = set()
        self._marked: list[_Folder] = []
        self._unmarked: list[_Folder] = []
        self._links: list[str] = []
        self._refused: list[tuple[str, str]] = []
        self._tops: set[str] = set()
        self.unvisited = ""

    def run(self) -> None:
        self._descend(self._root, "")
        for place in self._links:  # grows meanwhile
            self._follow(place)
        self._tops = {folder.place.partition("/")[0] for folder in self._marked}

    def skills(self) -> list[_Folder]:
        bare = [each for each in self._unmarked if each.place not in self._tops and not self._is_container(each)]
        return sorted([*self._marked, *bare], key=lambda each: each.place.split("/"))

    def skips(self) -> list[Skipped]:
        return [_skipped(place, why) for place, why in self._refused if not self._is_inner(place)]

    def _is_inner(self, place: str) -> bool:
        """Whether it lies in a skill that nothing marks."""
        return "/" in place and not place.startswith("/") and place.partition("/")[0] not in self._tops

    def _is_container(self, folder: _Folder) -> bool:
        """Of a symlink: whether skills lie in what it leads to."""
        is_link = folder.path != f"{self._root}/{folder.place}"
        return is_link and any(marked.path.startswith(f"{folder.path}/") for marked in self._marked)

    def _descend(self, folder: str, place: str) -> None:
        pending = [(folder, place)]
        while pending:
            folder, place = pending.pop()
            if folder in self._visited:
                continue
            if len(self._visited) >= MAX_FOLDERS:
                self.unvisited = self.unvisited or place
                return
            listing = self._listing(folder, place)
            if listing is None:
                continue
            self._visited.add(folder)
            self._sort(_Folder(folder, place, listing.stamp), listing)
            prefix = f"{place}/" if place else ""
            pending += [(f"{folder}/{name}", prefix + name) for name in reversed(listing.folders)]
            self._links += [prefix + name for name in listing.links]

    def _sort(self, folder: _Folder, listing: Listing) -> None:
        if folder.place and listing.marked:
            self._marked.append(folder)
        elif folder.place and "/" not in folder.place:
            self._unmarked.append(folder)

    def _listing(self, folder: str, place: str) -> Listing | None:
        try:
            listing = self._listings.of(folder, is_root=folder == self._root)
            return Listing(listing.stamp, marked=True) if folder in self._recorded else listing
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as failed:
            self._refused.append((place or self._root, f"its folder cannot be read: {failed.strerror}"))
            return None

    def _follow(self, place: str) -> None:
        try:
            target = os.path.realpath(f"{self._root}/{place}", strict=True)
            if not Path(target).is_dir():
                return
        except FileNotFoundError:
            return
        except OSError as failed:
            self._refused.append((place, f"its folder cannot be read: {failed.strerror}"))
            return
        if not f"{target}/".startswith(f"{self._root}/") or (target == self._root and "/" not in place):
            self._refused.append((place, OUTSIDE))
        elif target in self._visited:
            self._name_again(target, place)
        else:
            self._descend(target, place)

    def _name_again(self, target: str, place: str) -> None:
        """A skill may have several names; a folder of skills is not walked twice."""
        listing = self._listing(target, place)
        if listing is not None and target != self._root:
            self._sort(_Folder(target, place, listing.stamp), listing)


def _skipped(place: str, why: str) -> Skipped:
    name = os.fsencode(place.rpartition("/")[2]).decode("utf-8", "replace")
    problem = Problem("unreadable", why, "Mend it, or move it out of the skills folder.", ".", severity="error")
    return Skipped(name, Path(place), (problem,))


def _beyond(deep: Sequence[_Folder], many: Sequence[_Folder], unvisited: str) -> Iterator[Problem]:
    if deep:
        what = f"{len(deep)} skills lie more than {MAX_LEVELS} folders deep and are left out"
        yield _left_out("too-deep", what, deep[0].place, "Move them up.")
    if many:
        what = f"there are more than {MAX_SKILLS} skills, and {len(many)} are left out"
        yield _left_out("too-many-skills", what, many[0].place, "Remove some, or move them under another root.")
    if unvisited:
        what = f"there are more than {MAX_FOLDERS} folders, and the others are not looked into"
        yield _left_out("too-many-folders", what, unvisited, "Move what is no skill elsewhere.")


def _left_out(code: str, what: str, first: str, fix: str) -> Problem:
    place = os.fsencode(first).decode("utf-8", "replace")
    return Problem(code, f"{what}; the first is {place}", fix, place, severity="error")
