"""A file read once, piece by piece: its digest, its size and its beginning are known afterwards."""

import hashlib
from collections.abc import Iterator
from typing import IO

from .files import StoredFile
from .media_types import HEAD_BYTES, media_type_of

PIECE_BYTES = 1 << 20


class TooLargeError(Exception):
    """There is more of it than it may have."""


class BlobReader:
    def __init__(self, file: IO[bytes], most: int) -> None:
        """`most`: bytes that it may have."""
        self._file, self._most = file, most
        self._sha = hashlib.sha256()
        self.bytes = 0
        self.head = b""

    @property
    def digest(self) -> str:
        return self._sha.hexdigest()

    def again(self) -> "BlobReader":
        """From its beginning."""
        self._file.seek(0)
        return BlobReader(self._file, self._most)

    def pieces(self) -> Iterator[bytes]:
        """Raises: TooLargeError, OSError."""
        while piece := self._file.read(PIECE_BYTES):
            self.bytes += len(piece)
            if self.bytes > self._most:
                raise TooLargeError
            self.head = self.head or piece[:HEAD_BYTES]
            self._sha.update(piece)
            yield piece

    def read(self) -> "BlobReader":
        """To its end. Raises: TooLargeError, OSError."""
        for _ in self.pieces():
            pass
        return self

    def described(self, name: str, media_type: str | None = None) -> StoredFile:
        """What was read. `media_type` None: what it is by its name and its beginning."""
        found = media_type or media_type_of(name, self.head)
        return StoredFile(name=name, digest=self.digest, bytes=self.bytes, media_type=found)
