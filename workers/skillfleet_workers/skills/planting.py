"""Files of a skill written into a folder that nobody else knows yet: nothing outside of it is touched."""

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..wire.shown import is_text
from .members import (
    EXECUTABLE,
    MAX_LINK_BYTES,
    PIECE_BYTES,
    SETUID_OR_SETGID,
    Budget,
    Member,
    Names,
    RefusedError,
    safe_path,
)
from .paths import SKIPPED_FOLDERS

LEFT_OUT = SKIPPED_FOLDERS | {".git", ".hg", ".svn", ".venv"}
"""Folders that are not installed: what they hold belongs to the place where it was made."""

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def plant(members: Iterable[Member], into: Path, budget: Budget) -> None:
    """Links are made last, when no file can be written through one any more.

    Raises:
        RefusedError: a member is refused; `into` is left as it was then.
        OSError: it cannot be written.
    """
    names, links = Names(), []
    for member in members:
        budget.member()
        path = into / names.take(member)
        if member.kind == "folder":
            path.mkdir(parents=True, exist_ok=True)
            continue
        if path == into:
            raise RefusedError(f"{member.shown} is no name of a file")
        path.parent.mkdir(parents=True, exist_ok=True)
        if member.kind == "symlink":
            links.append((path, member))
        else:
            _write(path, member, into, budget)
    _link(links, into)


def members_of(folder: Path) -> Iterator[Member]:
    """All that is in a folder, but for LEFT_OUT.

    Raises:
        RefusedError: something in it is neither a file, a folder nor a symlink.
        OSError: it cannot be read.
    """
    for parent, folders, files in os.walk(folder, onerror=_raise):
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT)
        for name in [*folders, *sorted(name for name in files if name not in LEFT_OUT)]:
            path = Path(parent, name)
            yield _member(path, str(path.relative_to(folder)))


def _member(path: Path, name: str) -> Member:
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return Member(name, "symlink", target=str(path.readlink()))
    if stat.S_ISDIR(status.st_mode):
        return Member(name, "folder")
    if not stat.S_ISREG(status.st_mode):
        raise RefusedError(f"{Member(name, 'file').shown} is neither a file, a folder nor a symlink")
    return Member(name, "file", stat.S_IMODE(status.st_mode), pieces=lambda: _pieces(path))


def _pieces(path: Path) -> Iterator[bytes]:
    with os.fdopen(os.open(path, _READ), "rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece


def _write(path: Path, member: Member, into: Path, budget: Budget) -> None:
    if member.mode & SETUID_OR_SETGID:
        raise RefusedError(f"{member.shown} would run with the rights of its owner or group (setuid, setgid)")
    mode = 0o755 if member.mode & EXECUTABLE else 0o644
    if member.kind == "hard link":
        member, mode = _linked(member, into)
    with os.fdopen(os.open(path, _CREATE, mode), "wb") as file:
        for piece in budget.pieces(member):
            file.write(piece)


def _linked(member: Member, into: Path) -> tuple[Member, int]:
    """A file that was written before, to be copied: the two must not change together."""
    original = into / safe_path(member.target)
    if not original.is_file():
        raise RefusedError(f"{member.shown} is a hard link to a file that does not come before it in the archive")
    return Member(member.name, "file", pieces=lambda: _pieces(original)), stat.S_IMODE(original.stat().st_mode)


def _link(links: list[tuple[Path, Member]], into: Path) -> None:
    for path, member in links:
        if not _is_relative(member.target):
            raise RefusedError(f"{member.shown} is a symlink that leads out")
        path.symlink_to(member.target)
    for path, member in links:
        try:
            real = path.resolve(strict=True)
        except (OSError, RuntimeError):  # RuntimeError: links that lead to one another
            raise RefusedError(f"{member.shown} is a symlink that leads out, or nowhere") from None
        if not real.is_relative_to(into.resolve()):
            raise RefusedError(f"{member.shown} is a symlink that leads out")


def _is_relative(target: str) -> bool:
    if not target or not is_text(target) or "\0" in target:
        return False
    return len(target.encode()) <= MAX_LINK_BYTES and not target.startswith("/")


@contextmanager
def fresh(folder: Path) -> Iterator[None]:
    """The folder is made, and is gone again when the block fails."""
    folder.mkdir()
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _raise(error: OSError) -> None:
    raise error
