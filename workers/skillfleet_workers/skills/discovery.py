"""Which folders under a root are skills."""

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

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
        self._root = root
        self._listings = Listings()

    def look(self, recorded: Collection[Path] = ()) -> Discovered:
        """`recorded`: the folders that have records."""
        walk = _Walk(self._root, self._listings, recorded)
        walk.run()
        self._listings.forget_others()
        return walk.outcome()


class _Walk:
    """First what really lies there, then what symlinks lead to: so each folder is walked once, and loops end."""

    def __init__(self, root: Path, listings: Listings, recorded: Collection[Path]) -> None:
        self._root, self._listings, self._recorded = root, listings, recorded
        self._visited: set[Path] = set()
        self._marked: list[Found] = []
        self._unmarked: list[Found] = []
        self._links: list[str] = []
        self._refused: list[tuple[str, str]] = []
        self._unvisited = ""

    def run(self) -> None:
        self._descend(self._root, "")
        for place in self._links:  # grows meanwhile
            self._follow(place)

    def outcome(self) -> Discovered:
        tops = {found.place.partition("/")[0] for found in self._marked}
        bare = [found for found in self._unmarked if found.place not in tops and not self._is_container(found)]
        every = sorted([*self._marked, *bare], key=lambda found: found.place.split("/"))
        deep = [found for found in every if found.place.count("/") >= MAX_LEVELS]
        near = [found for found in every if found.place.count("/") < MAX_LEVELS]
        text = [found for found in near[:MAX_SKILLS] if is_text(found.place)]
        skips = [_skipped(found.place, "its name is not UTF-8") for found in near[:MAX_SKILLS] if found not in text]
        skips += [_skipped(place, why) for place, why in self._refused if not self._is_inner(place, tops)]
        return Discovered(tuple(text), tuple(skips), tuple(self._beyond(deep, near[MAX_SKILLS:])))

    def _is_inner(self, place: str, tops: set[str]) -> bool:
        """Whether it lies in a skill that nothing marks."""
        return "/" in place and not place.startswith("/") and place.partition("/")[0] not in tops

    def _is_container(self, found: Found) -> bool:
        """Of a symlink: whether skills lie in what it leads to."""
        is_link = found.folder != self._root / found.place
        return is_link and any(marked.folder.is_relative_to(found.folder) for marked in self._marked)

    def _beyond(self, deep: list[Found], many: list[Found]) -> Iterator[Problem]:
        if deep:
            what = f"{len(deep)} skills lie more than {MAX_LEVELS} folders deep and are left out"
            yield _beyond("too-deep", what, deep[0].place, "Move them up.")
        if many:
            what = f"there are more than {MAX_SKILLS} skills, and {len(many)} are left out"
            yield _beyond("too-many-skills", what, many[0].place, "Remove some, or move them under another root.")
        if self._unvisited:
            what = f"there are more than {MAX_FOLDERS} folders, and the others are not looked into"
            yield _beyond("too-many-folders", what, self._unvisited, "Move what is no skill elsewhere.")

    def _descend(self, folder: Path, place: str) -> None:
        pending = [(folder, place)]
        while pending:
            folder, place = pending.pop()
            if folder in self._visited:
                continue
            if len(self._visited) >= MAX_FOLDERS:
                self._unvisited = self._unvisited or place
                return
            listing = self._listing(folder, place)
            if listing is None:
                continue
            self._visited.add(folder)
            self._sort(Found(folder, place, listing.stamp), listing)
            prefix = f"{place}/" if place else ""
            pending += [(folder / name, prefix + name) for name in reversed(listing.folders)]
            self._links += [prefix + name for name in listing.links]

    def _sort(self, found: Found, listing: Listing) -> None:
        if found.place and listing.marked:
            self._marked.append(found)
        elif found.place and "/" not in found.place:
            self._unmarked.append(found)

    def _listing(self, folder: Path, place: str) -> Listing | None:
        try:
            listing = self._listings.of(folder, is_root=folder == self._root)
            return Listing(listing.stamp, marked=True) if folder in self._recorded else listing
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as failed:
            self._refused.append((place or str(self._root), f"its folder cannot be read: {failed.strerror}"))
            return None

    def _follow(self, place: str) -> None:
        try:
            target = Path(os.path.realpath(self._root / place, strict=True))
            if not target.is_dir():
                return
        except FileNotFoundError:
            return
        except OSError as failed:
            self._refused.append((place, f"its folder cannot be read: {failed.strerror}"))
            return
        if not target.is_relative_to(self._root) or (target == self._root and "/" not in place):
            self._refused.append((place, OUTSIDE))
        elif target in self._visited:
            self._name_again(target, place)
        else:
            self._descend(target, place)

    def _name_again(self, target: Path, place: str) -> None:
        """A skill may have several names; a folder of skills is not walked twice."""
        listing = self._listing(target, place)
        if listing is not None and target != self._root:
            self._sort(Found(target, place, listing.stamp), listing)


def _skipped(place: str, why: str) -> Skipped:
    name = os.fsencode(place.rpartition("/")[2]).decode("utf-8", "replace")
    problem = Problem("unreadable", why, "Mend it, or move it out of the skills folder.", ".", severity="error")
    return Skipped(name, Path(place), (problem,))


def _beyond(code: str, what: str, first: str, fix: str) -> Problem:
    place = os.fsencode(first).decode("utf-8", "replace")
    return Problem(code, f"{what}; the first is {place}", fix, place, severity="error")
