"""The artifact store: the bytes of files that travel with conversations, each under its SHA-256.

No path in it is made of what comes from outside but of digests, and what comes out is what went in, or nothing.
"""

import io
import logging
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Self

from .artifacts import MAX_BYTES, STORE
from .blob_reader import BlobReader, TooLargeError
from .connection import FleetSettings, expanded
from .files import StoredFile
from .shown import short
from .store_places import DRAFT, YOUNG_S, Folder, Place

UNUSED_S = 37 * 86_400.0 + YOUNG_S
"""Most seconds in which a conversation that is neither paused nor ended may use none of its files: as long as it may
last, and wait for a person, and the time in which a file counts as young."""

URL_SETTING = "SKILLFLEET_ARTIFACTS_URL"
PROBE = b"skillfleet"

_SECRETS = re.compile(r"(?<=//)\S*@|\?\S+")
"""Names and passwords, which may themselves hold `@` and `/`, and what is signed."""

log = logging.getLogger(__name__)


class StoreError(Exception):
    """The store cannot do its part: one sentence, and the fix."""


class FileTooLargeError(StoreError):
    """One file has more than MAX_BYTES."""


class ArtifactStore:
    """Raises StoreError wherever the store cannot be used. `where`: for people, without a secret."""

    def __init__(self, place: Place, where: str) -> None:
        self._place = place
        self.where = where

    @classmethod
    def of(cls, settings: FleetSettings) -> Self:
        """Nothing is asked of it yet."""
        url = settings.artifacts_url.strip()
        if not url:
            folder = settings.state_dir / STORE
            return cls(Folder(folder), str(folder))
        scheme, _, path = url.rpartition("://")
        if scheme in ("", "file", "local"):
            return cls(Folder(_folder(path)), url)
        return cls(_remote(url), _without_secrets(url))

    def put(self, path: Path, name: str, media_type: str | None = None) -> StoredFile:
        """A copy of the file. Raises: also FileTooLargeError, and OSError where it cannot be read."""
        with path.open("rb") as file, self._told(name):
            return self._place.add(BlobReader(file, MAX_BYTES)).described(name, media_type)

    def put_bytes(self, content: bytes, name: str, media_type: str | None = None) -> StoredFile:
        """Raises: also FileTooLargeError."""
        with self._told(name):
            return self._place.add(BlobReader(io.BytesIO(content), MAX_BYTES)).described(name, media_type)

    def adopt(self, path: Path, name: str, media_type: str | None = None) -> StoredFile:
        """As `put`, of a file that nobody changes any more: it is read-only then, and need not be copied."""
        with self._told(name):
            return self._place.adopt(path, MAX_BYTES).described(name, media_type)

    def read(self, digest: str, limit: int = MAX_BYTES) -> bytes | None:
        """None: it is not there (any more), or has more than `limit` bytes."""
        content = io.BytesIO()
        with suppress(FileTooLargeError), self._told(digest):
            if self._copied(digest, content, limit):
                return content.getvalue()
        return None

    def fetch(self, digest: str, target: Path) -> bool:
        """A copy of it, there only once it is known to be right; whether there is one."""
        draft = _draft_beside(target)
        try:
            with draft.open("xb+") as file, self._told(digest):
                found = self._copied(digest, file, MAX_BYTES)
            if found:
                draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
        return found

    def share(self, digest: str, target: Path) -> bool:
        """As `fetch`; but the target may be the store's own file, and is not to be changed."""
        own = self._place.own_file(digest) if is_digest(digest) else None
        if own and self._is_right(digest):
            draft = _draft_beside(target)
            with suppress(OSError):  # on another disk, or one without links
                os.link(own, draft)
                draft.replace(target)
                draft.unlink(missing_ok=True)  # where the target was the same file already, it is still there
                return True
        return self.fetch(digest, target)

    def prune(self, older_than_s: float) -> int:
        """How many went that nobody has put or taken for that long."""
        with self._told():
            return self._place.prune(older_than_s)

    def check(self) -> None:
        """Raises: StoreError: it cannot be written to, or read from."""
        if self.read(self.put_bytes(PROBE, "probe").digest) != PROBE:
            raise StoreError(f"the artifact store {self.where} does not give back what it got; name another one")

    def _is_right(self, digest: str) -> bool:
        with self._told(digest):
            return self._copied(digest, None, MAX_BYTES)

    def _copied(self, digest: str, target: IO[bytes] | None, limit: int) -> bool:
        """Whether it is there, and right. Raises: TooLargeError."""
        blob = self._place.open(digest) if is_digest(digest) else None
        if blob is None:
            return False
        with blob:
            source = BlobReader(blob, limit)
            for piece in source.pieces():
                if target:
                    target.write(piece)
        if source.digest != digest:
            log.error("%s: what lies under %s is something else", self.where, digest)
            return False
        self._place.used(digest, target)
        return True

    @contextmanager
    def _told(self, name: str = "") -> Iterator[None]:
        try:
            yield
        except TooLargeError:
            size = f"has more than {MAX_BYTES >> 20} MB"
            raise FileTooLargeError(f"{name}: {size}, which is the most that one file may have; split it") from None
        except self._place.failures as wrong:
            said = short(_without_secrets(str(wrong)), 300) or type(wrong).__name__
            fix = f"check {URL_SETTING}, and who may write there"
            raise StoreError(f"the artifact store {self.where} cannot be used: {said}; {fix}") from wrong


def is_digest(text: str) -> bool:
    return re.fullmatch("[0-9a-f]{64}", text) is not None


def _draft_beside(target: Path) -> Path:
    return target.with_name(f"{DRAFT}{secrets.token_hex(16)}")


def _folder(path: str) -> Path:
    try:
        return expanded(path).absolute()
    except ValueError as wrong:
        raise StoreError(f"{URL_SETTING}: {wrong}") from None


def _remote(url: str) -> Place:
    from .store_remote import Remote, UnusableUrlError  # noqa: PLC0415  fsspec costs a tenth of a second

    try:
        return Remote(url)
    except UnusableUrlError as wrong:
        told = short(_without_secrets(f"{url} cannot be used: {wrong}"), 600)
        raise StoreError(f"{URL_SETTING}: {told}") from None


def _without_secrets(text: str) -> str:
    return _SECRETS.sub("", text)
