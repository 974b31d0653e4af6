"""What a skill's folder holds, as one hash."""

import hashlib
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .contents import Entry, contents
from .paths import open_regular
from .stamps import Stamp, settled, stamp_of

CHUNK_BYTES = 1_048_576
MAX_BYTES = 1_073_741_824
"""Of a skill with more, only the sizes of the further files are in its digest."""

TRIES = 5
"""Of a folder that changes while it is read."""

Sink = Callable[[bytes], object]


class Digest:
    """Of the entries added to it, which come in the order of `contents`."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._whole = hashlib.sha256()
        self._left = max_bytes

    def add(self, entry: Entry, copied: Sink | None = None) -> None:
        """What is read of a file goes to `copied` too. Raises OSError."""
        if entry.is_link:
            self._note("l", entry, os.fsencode(os.readlink(entry.name, dir_fd=entry.parent)))
        elif not entry.is_folder:
            self._note("x" if entry.is_executable else "f", entry, self._content(entry, copied))

    def hexdigest(self) -> str:
        return self._whole.hexdigest()

    def _note(self, kind: str, entry: Entry, content: bytes) -> None:
        for part in (kind.encode(), os.fsencode(entry.path), content):
            self._whole.update(len(part).to_bytes(8) + part)

    def _content(self, entry: Entry, copied: Sink | None) -> bytes:
        if entry.status.st_size > self._left:
            return entry.status.st_size.to_bytes(8)
        content = hashlib.sha256()
        with os.fdopen(open_regular(entry.parent, entry.name), "rb", buffering=0) as file:
            while self._left > 0 and (chunk := file.read(CHUNK_BYTES)):
                self._left -= len(chunk)
                content.update(chunk)
                if copied:
                    copied(chunk)
        return content.digest()


def digest_of(root: Path) -> str:
    """sha256 over the relative path, execute bit and content of every file, and the text of every symlink; folders of
    tools are left out (`contents`). Raises OSError."""
    for left in reversed(range(TRIES)):
        digest = Digest()
        try:
            for entry in contents(root):
                digest.add(entry)
            break
        except OSError:  # something was removed or swapped between it was listed and opened
            if not left:
                raise
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class _Known:
    stamps: tuple[tuple[str, Stamp], ...]
    digest: str
    is_settled: bool


class Digests:
    """Taken again only where stamps have changed. Safe to share between threads."""

    def __init__(self) -> None:
        self._known: dict[Path, _Known] = {}
        self._lock = threading.Lock()

    def of(self, root: Path) -> str:
        """Raises OSError."""
        # Stamped before it is read: a change in between is then seen the next time.
        stamps = tuple((entry.path, stamp_of(entry.status)) for entry in contents(root))
        known = self._known.get(root)
        if known is None or not known.is_settled or known.stamps != stamps:
            known = _Known(stamps, digest_of(root), all(settled(stamp) for _, stamp in stamps))
            with self._lock:
                self._known[root] = known
        return known.digest
