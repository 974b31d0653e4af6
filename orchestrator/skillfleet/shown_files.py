"""The images that models are shown, read from the artifact store; the last ones stay in memory."""

import logging
import threading
from collections import OrderedDict

from skillfleet_workers.wire.files import MAX_IMAGE_BYTES
from skillfleet_workers.wire.store import ArtifactStore, StoreError

ROOM_BYTES = 64 * 1024 * 1024
"""Most bytes that stay in memory."""

log = logging.getLogger(__name__)


class ShownFiles:
    """Safe to share between threads."""

    def __init__(self, store: ArtifactStore, room_bytes: int = ROOM_BYTES) -> None:
        self._store, self._room = store, room_bytes
        self._held: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, digest: str) -> bytes | None:
        """None: it is gone, or the store can't be read now; the model is told that it is not shown."""
        with self._lock:
            if digest in self._held:
                self._held.move_to_end(digest)
                return self._held[digest]
        try:
            content = self._store.read(digest, MAX_IMAGE_BYTES)
        except StoreError as error:
            log.warning("an image is not shown to a model: %s", error)
            return None
        if content is not None:
            self._hold(digest, content)
        return content

    def _hold(self, digest: str, content: bytes) -> None:
        with self._lock:
            self._held[digest] = content
            while sum(map(len, self._held.values())) > self._room:
                self._held.popitem(last=False)
