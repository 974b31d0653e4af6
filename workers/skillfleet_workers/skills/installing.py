"""Skills put into a root, and taken out of it again: all of one or nothing, and written down in skills.lock."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ..scratch import scratch_folder
from .archives import unpack
from .choosing import chosen
from .digests import digest_of
from .exchange import exchange
from .git import fetch
from .install_sources import Local, Source
from .lockfile import LOCKFILE, LockedSkill, held, read_lock, write_lock
from .members import USUAL, Budget, RefusedError
from .models import Skipped
from .planting import members_of, plant
from .reading import read_skill

WORKSHOP = ".installing"
"""Where in a root skills are made ready: on its own file system, and hidden from the catalog."""

ARCHIVES = (".tar.gz", ".tgz", ".skill", ".zip")


class NotInstalledError(Exception):
    """There is no such skill in this root."""


def install(source: Source, root: Path, *, name: str = "", force: bool = False) -> LockedSkill:
    """`force`: what is there under that name is replaced, and stays until all is in place.

    Raises:
        RefusedError: nothing was installed; the message says why.
        LockfileError, OSError: nothing was installed.
    """
    root.mkdir(parents=True, exist_ok=True)
    with _workshop(root) as shop:
        tree, shown, otherwise = _fetched(source, shop)
        name, folder = chosen(_inside(tree, source.subdirectory), name, otherwise)
        new = shop / "new" / name
        new.mkdir(parents=True)
        plant(members_of(folder), new, Budget(USUAL))
        read = read_skill(Path(os.path.realpath(new)))
        if isinstance(read, Skipped):
            raise RefusedError(f"it is no skill that loads: {read.reason}")
        entry = LockedSkill(name=name, version=read.version, digest=digest_of(new), source=shown)
        with held(root):
            lock = read_lock(root)
            with placed(new, root / name, force=force):
                write_lock(root, lock.having(entry))
    return entry


def remove(name: str, root: Path, *, force: bool = False) -> None:
    """`force`: even where skills.lock does not know it.

    Raises:
        NotInstalledError
        RefusedError: it was not installed, but is there.
        LockfileError, OSError
    """
    if not root.is_dir() or not name or name.startswith(".") or "/" in name or "\0" in name:
        raise NotInstalledError(name)
    with _workshop(root) as shop, held(root):
        lock, folder = read_lock(root), root / name
        if not lock.find(name):
            if not os.path.lexists(folder):
                raise NotInstalledError(name)
            if not force:
                raise RefusedError(f"{name} is not in {LOCKFILE}; --force removes its folder all the same")
        with moved(folder, shop / "old"):
            write_lock(root, lock.without(name))


@contextmanager
def placed(new: Path, at: Path, *, force: bool) -> Iterator[None]:
    """Put back when the block fails."""
    twins = [entry.name for entry in at.parent.iterdir() if entry.name.casefold() == at.name.casefold()]
    if others := [name for name in twins if name != at.name]:
        raise RefusedError(f"{others[0]!r} is there already, and differs by upper and lower case alone; remove it")
    if not twins:
        with moved(new, at):
            yield
        return
    if not force:
        raise RefusedError(f"{at.name} is there already; --force replaces it")
    exchange(new, at)
    try:
        yield
    except BaseException:
        exchange(new, at)
        raise


@contextmanager
def moved(folder: Path, to: Path) -> Iterator[None]:
    """Moved back when the block fails; a folder that is not there is nothing to move."""
    with suppress(FileNotFoundError):
        folder.rename(to)
    try:
        yield
    except BaseException:
        with suppress(FileNotFoundError):
            to.rename(folder)
        raise


@contextmanager
def _workshop(root: Path) -> Iterator[Path]:
    """What a killed install left is removed by the next."""
    try:
        with ExitStack() as opened:
            with held(root):
                shop = opened.enter_context(scratch_folder(root / WORKSHOP))
            yield shop
    finally:
        with held(root), suppress(OSError):  # others are at work
            (root / WORKSHOP).rmdir()


def _fetched(source: Source, shop: Path) -> tuple[Path, str, str]:
    """A folder with its content, how skills.lock names it, and the name that it gives a skill with none."""
    tree = shop / "tree"
    last = source.subdirectory.rpartition("/")[2]
    if not isinstance(source, Local):
        return tree, source.at(fetch(source, tree)), last or source.name
    path = Path(source.path).expanduser()
    if path.is_dir():
        return path, source.shown, last or path.resolve().name
    if not path.is_file():
        raise RefusedError(f"{source.path} is neither a folder nor an archive")
    unpack(path, tree)
    stem = next((path.name[: -len(end)] for end in ARCHIVES if path.name.lower().endswith(end)), path.stem)
    return tree, source.shown, last or stem


def _inside(tree: Path, subdirectory: str) -> Path:
    folder = Path(os.path.realpath(tree / subdirectory))
    if not folder.is_relative_to(os.path.realpath(tree)) or not folder.is_dir():
        raise RefusedError(f"it has no folder {subdirectory!r}")
    return folder
