"""Blobs behind any URL that fsspec can open."""

import secrets
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, cast

from fsspec.core import url_to_fs

from .blob_reader import BlobReader
from .store_places import BLOBS, DRAFT, DRAFTS_KEPT_S, YOUNG_S, blob_path

PRUNE_EVERY_S = 3600.0
PRUNED = "pruned"
"""The name of what tells when all were last looked at, so that one worker does it for all."""


class UnusableUrlError(Exception):
    """The message says what is wrong with it."""


class Remote:
    failures: tuple[type[Exception], ...] = (Exception,)
    """The packages behind fsspec raise what they like."""

    def __init__(self, url: str) -> None:
        """Raises: UnusableUrlError. Nothing is asked of it yet."""
        try:
            self._files, root = url_to_fs(url)
        except ImportError as missing:
            raise UnusableUrlError(_missing(url, missing)) from None
        except ValueError as wrong:
            raise UnusableUrlError(f"{wrong}; write it like s3://bucket/folder") from None
        except Exception as wrong:  # noqa: BLE001  some connect at once, and raise what they like
            raise UnusableUrlError(f"{wrong or type(wrong).__name__}; is it there, and may we use it?") from None
        self._root = str(root).rstrip("/")

    def add(self, source: BlobReader) -> BlobReader:
        source.read()
        return source if self._is_young(source.digest) else self._write(source.again())

    def adopt(self, file: Path, most: int) -> BlobReader:
        with file.open("rb") as opened:
            return self.add(BlobReader(opened, most))

    def open(self, digest: str) -> IO[bytes] | None:
        try:
            return cast(IO[bytes], self._files.open(self._path(digest), "rb"))
        except FileNotFoundError:
            return None

    def own_file(self, digest: str) -> Path | None:
        return None

    def used(self, digest: str, content: IO[bytes] | None) -> None:
        # Object stores know no other way to make a file younger.
        if content and not self._is_young(digest):
            content.seek(0)
            self._write(BlobReader(content, sys.maxsize))

    def prune(self, older_than_s: float) -> int:
        mark = f"{self._root}/{PRUNED}"
        if (age := self._age(mark)) is not None and age < PRUNE_EVERY_S:
            return 0
        self._files.pipe_file(mark, b"-")
        for draft in self._files.glob(f"{self._root}/{DRAFT}*"):
            self._remove_older(draft, DRAFTS_KEPT_S)
        return sum(self._remove_older(blob, older_than_s) for blob in self._files.glob(f"{self._root}/{BLOBS}"))

    def _write(self, source: BlobReader) -> BlobReader:
        """Not under its own name before all of it is there."""
        draft = f"{self._root}/{DRAFT}{secrets.token_hex(16)}"
        self._files.makedirs(self._root, exist_ok=True)
        try:
            with self._files.open(draft, "wb") as file:
                for piece in source.pieces():
                    file.write(piece)
            path = self._path(source.digest)
            self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
            self._files.mv(draft, path)
        except BaseException:
            with suppress(FileNotFoundError):
                self._files.rm_file(draft)
            raise
        return source

    def _is_young(self, digest: str) -> bool:
        age = self._age(self._path(digest))
        return age is not None and age < YOUNG_S

    def _remove_older(self, path: str, than_s: float) -> bool:
        """By what was listed, and once more by what there is now."""
        for age in (self._listed_age, self._age):
            seconds = age(path)
            if seconds is None or seconds < than_s:
                return False
        self._files.rm_file(path)
        return True

    def _age(self, path: str) -> float | None:
        self._files.invalidate_cache()
        return self._listed_age(path)

    def _listed_age(self, path: str) -> float | None:
        """In seconds; None: there is no such file."""
        try:
            modified: datetime = self._files.modified(path)
        except FileNotFoundError:
            return None
        return time.time() - (modified if modified.tzinfo else modified.replace(tzinfo=UTC)).timestamp()

    def _path(self, digest: str) -> str:
        return f"{self._root}/{blob_path(digest)}"


def _missing(url: str, missing: ImportError) -> str:
    if url.startswith(("s3:", "s3a:")):
        return "s3 needs a package that is not installed; pip install 'skillfleet[s3]'"
    return f"it needs a package that is not installed; {missing}"
