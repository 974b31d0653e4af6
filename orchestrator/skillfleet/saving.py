"""Files that scripts brought, saved to a folder. What they are called may be made to mislead."""

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from skillfleet_workers.wire.artifacts import MAX_BYTES
from skillfleet_workers.wire.shown import is_text
from skillfleet_workers.wire.store import ArtifactStore

from .conversations.report import ArtifactReport
from .errors import BadRequestError

Outcome = Literal["written", "same", "differs", "gone", "refused"]
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OLD_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class SavedFile:
    """What became of a file. `same`: it is there already; `differs`: something else has its place, and keeps it;
    `gone`: the store does not have it (any more); `refused`: its place is outside of the folder, behind a link, or
    can't be written. `why`: of the last three, in words."""

    artifact: ArtifactReport
    path: Path
    outcome: Outcome
    why: str = ""

    @property
    def there(self) -> bool:
        return self.outcome in ("written", "same")


def save(store: ArtifactStore, artifacts: Sequence[ArtifactReport], folder: Path) -> Iterator[SavedFile]:
    """Each as `folder`/CALL/PATH, as they are written. Nothing is written outside of the folder, through a link, or
    over another file.

    Raises:
        BadRequestError: the folder can't be made.
        StoreError: the store can't be read.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as wrong:
        raise BadRequestError(f"--save: {folder}: {wrong.strerror}") from None
    try:
        for artifact in artifacts:
            outcome, why = _saved(store, artifact, root)
            yield SavedFile(artifact, Path(f"{folder}/{artifact.call}/{artifact.path}"), outcome, why)
    finally:
        os.close(root)


def _saved(store: ArtifactStore, artifact: ArtifactReport, root: int) -> tuple[Outcome, str]:
    *folders, name = (artifact.call, *artifact.path.split("/"))
    if not all(map(_is_plain, (*folders, name))):
        return "refused", "its name leads out of the folder"
    if not artifact.digest:
        return "gone", "its worker could not put it into the artifact store"
    try:
        with _below(root, folders) as place:
            there = _digest_of(name, place)
            if there is not None:
                return ("same", "") if there == artifact.digest else ("differs", "another file is there")
            content = store.read(artifact.digest, MAX_BYTES)
            if content is None:
                return "gone", "the artifact store does not have it any more"
            _write(name, place, content)
    except OSError as wrong:
        return "refused", _in_words(wrong)
    return "written", ""


def _is_plain(part: str) -> bool:
    return part not in ("", ".", "..") and "/" not in part and "\0" not in part and is_text(part)


@contextmanager
def _below(root: int, folders: Sequence[str]) -> Iterator[int]:
    """The innermost of the folders, made where they are not there. Raises: OSError."""
    with contextlib.ExitStack() as opened:
        place = root
        for name in folders:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, dir_fd=place)
            place = os.open(name, _FOLDER, dir_fd=place)
            opened.callback(os.close, place)
        yield place


def _digest_of(name: str, place: int) -> str | None:
    """Of the file that is there; empty: it is no regular one; None: nothing is there. Raises: OSError."""
    try:
        there = os.open(name, _OLD_FILE, dir_fd=place)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(os.fstat(there).st_mode):
        os.close(there)
        return ""
    with os.fdopen(there, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write(name: str, place: int, content: bytes) -> None:
    """All of it or nothing. Raises: OSError."""
    with contextlib.ExitStack() as undo, _new(name, place) as file:
        undo.callback(os.unlink, name, dir_fd=place)
        file.write(content)
        file.flush()
        undo.pop_all()


def _new(name: str, place: int) -> BinaryIO:
    return os.fdopen(os.open(name, _NEW_FILE, 0o666, dir_fd=place), "wb")


def _in_words(wrong: OSError) -> str:
    return "a link is in its place" if wrong.errno == errno.ELOOP else wrong.strerror or str(wrong)
