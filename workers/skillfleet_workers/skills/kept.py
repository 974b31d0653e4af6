"""Copies of skills in the states that conversations began with."""

import contextlib
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from ..wire.versions import split
from .contents import REGENERATED, Entry, contents
from .digests import TRIES, Digest, Digests
from .models import Skill

NAME_CHARS = 32
"""Of a digest, in the name of the folder of its copies."""

MAX_FILES = 10_000

TEMPORARY = ".tmp-"
ABANDONED_S = 3_600
"""A copy that takes longer is none that is still being made."""

MODES = stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO


class _NotKeptError(Exception):
    """It would not be the same elsewhere, or it is too big."""


class Kept:
    """Copies lie at `folder/<digest>/<skill>`, and what lies there never changes. Workers of one machine share the
    folder; threads share this."""

    def __init__(self, folder: Path, max_mb: int = 64, max_files: int = MAX_FILES) -> None:
        self._folder = folder
        self._max_bytes, self._max_files = max_mb * 1_000_000, max_files
        self._digests = Digests()

    def keep(self, skill: Skill) -> str:
        """The digest of the state that it is in, of which there is a copy from now on. There is none of what has an
        environment or packages of its own, or links out of it, or cannot be read as a whole, or is too big; nor of a
        skill that a registry file describes, as that lies elsewhere. Empty: it cannot be read at all."""
        digest = ""
        with contextlib.suppress(OSError, _NotKeptError):
            for _ in range(TRIES):
                digest = self._digests.of(skill.root)
                if self._is_there(skill, digest) or self._copied(skill, digest):
                    break
        return digest

    def find(self, digest: str, name: str = "") -> Path | None:
        """The copy of the skill in this state; without a name, that of whichever skill was kept."""
        shelf = self._shelf(digest)
        try:
            os.utime(shelf)
            copies = sorted(path for path in shelf.iterdir() if split(name)[0] in ("", split(path.name)[0]))
        except OSError:
            return None
        exact = [path for path in copies if path.name == name]
        return next((path for path in exact + copies if self._is_whole(path, digest)), None)

    def prune(self, older_than_s: float) -> None:
        """Those that were not used for so long, and what was left behind."""
        now = time.time()
        for path in _listed(self._folder):
            limit = ABANDONED_S if path.name.startswith(TEMPORARY) else older_than_s
            with contextlib.suppress(OSError):
                if path.lstat().st_mtime < now - limit:
                    self._remove(path, now - limit)

    def _is_there(self, skill: Skill, digest: str) -> bool:
        copy = self.find(digest, _name(skill))
        return copy is not None and copy.name == _name(skill)

    def _shelf(self, digest: str) -> Path:
        return self._folder / (digest if digest.isalnum() else "-")[:NAME_CHARS]

    def _is_whole(self, copy: Path, digest: str) -> bool:
        """A machine that lost its power may have left a copy without its content, and a script may have written
        there: also what no digest is about, as no copy holds it."""
        with contextlib.suppress(OSError):
            if self._digests.of(copy) == digest and not any(entry.is_folder for entry in contents(copy)):
                return True
            self._remove(copy, time.time())
        return False

    def _remove(self, path: Path, last_used: float) -> None:
        """At once for those who look for it; whoever found it before has used it just now."""
        with self._temporary() as temporary:
            dead = path.rename(temporary / path.name)
            if dead.lstat().st_mtime > last_used:
                dead.rename(path)

    @contextlib.contextmanager
    def _temporary(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix=TEMPORARY, dir=self._folder, ignore_cleanup_errors=True) as folder:
            yield Path(folder)

    def _copied(self, skill: Skill, digest: str) -> bool:
        """Whether there is a copy of this state now; else the skill has changed meanwhile."""
        if "registry" in skill.formats:
            raise _NotKeptError
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._temporary() as temporary:
            copy = temporary / _name(skill)
            if self._write(skill.root, copy) != digest:
                return False
            self._shelf(digest).mkdir(exist_ok=True)
            with contextlib.suppress(OSError):  # another worker was faster
                copy.rename(self._shelf(digest) / copy.name)
        return True

    def _write(self, root: Path, copy: Path) -> str:
        """The digest of what was written. Raises _NotKeptError, OSError."""
        digest = Digest(self._max_bytes)
        written, copied = 0, 0
        folders = {root: copy}
        copy.mkdir()
        for entry in contents(root):
            written, copied = written + entry.status.st_size, copied + 1
            if written > self._max_bytes or copied > self._max_files:
                raise _NotKeptError
            _write_entry(entry, copy, digest)
            if not entry.is_folder:
                folders |= {root / folder: copy / folder for folder in Path(entry.path).parents}
        for source, target in folders.items():
            target.chmod(source.stat().st_mode & MODES | stat.S_IRWXU)
        return digest.hexdigest()


def _write_entry(entry: Entry, copy: Path, digest: Digest) -> None:
    if entry.is_folder:
        if entry.name not in REGENERATED:
            raise _NotKeptError
        return
    target = copy / entry.path
    target.parent.mkdir(parents=True, exist_ok=True)
    if entry.is_link:
        if _leads_out(entry):
            raise _NotKeptError
        target.symlink_to(os.readlink(entry.name, dir_fd=entry.parent))
        digest.add(entry)
        return
    # A copy would be another file: with the rights of another owner, or without the other names.
    if entry.status.st_mode & (stat.S_ISUID | stat.S_ISGID) or entry.status.st_nlink > 1:
        raise _NotKeptError
    with target.open("xb") as file:
        digest.add(entry, file.write)
        os.fchmod(file.fileno(), entry.status.st_mode & MODES | stat.S_IRUSR)


def _leads_out(link: Entry) -> bool:
    target = os.readlink(link.name, dir_fd=link.parent)
    there = os.path.normpath(Path(link.path).parent / target)
    return there.startswith(("/", "../")) or there == ".."


def _name(skill: Skill) -> str:
    """As its folder is called, with the version in it; a symlink may have given it another name."""
    return skill.root.name if split(skill.root.name)[0] == skill.name else skill.name


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except FileNotFoundError:
        return []
