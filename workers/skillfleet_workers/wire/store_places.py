"""Where blobs lie, each under its SHA-256: the port, and the one of them that is a folder."""

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Protocol

from .blob_reader import BlobReader

YOUNG_S = 86_400.0
"""What was used within so many seconds need not be made younger."""

BLOBS = f"sha256/??/{'?' * 64}"
"""What matches `blob_path`."""

DRAFT = "draft-"
DRAFTS_KEPT_S = 86_400
"""After that its writer has died at it."""


class Place(Protocol):
    """Two writers of the same blob do each other no harm; none is ever seen in part. Every digest is a checked one.
    `failures`: what it raises when it cannot do its part."""

    failures: tuple[type[Exception], ...]

    def add(self, source: BlobReader) -> BlobReader:
        """What was read of it, and is there now: young again, where it was there already."""
        ...

    def adopt(self, file: Path, most: int) -> BlobReader:
        """The same of a file that nobody writes to any more, and that may become read-only."""
        ...

    def open(self, digest: str) -> IO[bytes] | None: ...

    def own_file(self, digest: str) -> Path | None:
        """The file of the blob itself, where it has one here."""
        ...

    def used(self, digest: str, content: IO[bytes] | None) -> None:
        """It is young again. `content`: a file that can be read and has just been given all of it."""
        ...

    def prune(self, older_than_s: float) -> int:
        """How many went that nobody has used for that long."""
        ...


def blob_path(digest: str) -> str:
    """Below the place's own folder."""
    return f"sha256/{digest[:2]}/{digest}"


class Folder:
    """Closed to others; its files are read-only."""

    failures: tuple[type[Exception], ...] = (OSError,)

    def __init__(self, root: Path) -> None:
        self._root = root

    def add(self, source: BlobReader) -> BlobReader:
        with self._draft() as draft:
            with draft.open("xb") as file:
                for piece in source.pieces():
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())  # what is handed in is on disk before its conversation is
            self._keep(draft, source.digest)
        return source

    def adopt(self, file: Path, most: int) -> BlobReader:
        with self._draft() as draft:
            try:
                os.link(file, draft, follow_symlinks=False)
            except OSError:  # on another disk, or one without links
                with file.open("rb") as opened:
                    return self.add(BlobReader(opened, most))
            with draft.open("rb") as opened:
                source = BlobReader(opened, most).read()
            self._keep(draft, source.digest)
        return source

    def open(self, digest: str) -> IO[bytes] | None:
        try:
            return self._path(digest).open("rb")
        except FileNotFoundError:
            return None

    def own_file(self, digest: str) -> Path | None:
        return self._path(digest)

    def used(self, digest: str, content: IO[bytes] | None) -> None:
        with suppress(FileNotFoundError, PermissionError):  # just pruned; another user's, who has just made it
            os.utime(self._path(digest))

    def prune(self, older_than_s: float) -> int:
        now = time.time()
        for draft in self._root.glob(f"{DRAFT}*"):
            if _mtime(draft) < now - DRAFTS_KEPT_S:
                draft.unlink(missing_ok=True)
        return sum(self._pruned(blob, now - older_than_s) for blob in self._root.glob(BLOBS))

    def _pruned(self, blob: Path, horizon: float) -> bool:
        if _mtime(blob) >= horizon:
            return False
        with self._draft() as aside, suppress(FileNotFoundError):  # another one was quicker
            blob.rename(aside)
            if _mtime(aside) < horizon:
                return True
            os.link(aside, blob)  # it was used since we looked
        return False

    def _keep(self, draft: Path, digest: str) -> None:
        path = self._path(digest)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft.chmod(0o444)
        os.utime(draft)
        draft.replace(path)

    @contextmanager
    def _draft(self) -> Iterator[Path]:
        """A name that is free; gone afterwards."""
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = self._root / f"{DRAFT}{secrets.token_hex(16)}"
        try:
            yield draft
        finally:
            draft.unlink(missing_ok=True)

    def _path(self, digest: str) -> Path:
        return self._root / blob_path(digest)


def _mtime(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except FileNotFoundError:
        return time.time()
