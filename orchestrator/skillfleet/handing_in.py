"""Files that are handed in go to the artifact store before their conversation is submitted."""

from collections.abc import Iterable

from skillfleet_workers.wire.connection import FleetSettings
from skillfleet_workers.wire.files import StoredFile
from skillfleet_workers.wire.store import ArtifactStore

from .errors import BadRequestError
from .handed import HandedFile


def hand_in(settings: FleetSettings, files: Iterable[HandedFile]) -> None:
    """
    Raises:
        BadRequestError: one is not what it was when it was checked.
        StoreError: the store cannot take it.
    """
    different = {one.about.digest: one for one in files}
    if not different:
        return
    store = ArtifactStore.of(settings)
    for one in different.values():
        if _stored(store, one).digest != one.about.digest:
            raise BadRequestError(f"{one.about.name}: was changed while it was handed in; submit again")


def _stored(store: ArtifactStore, one: HandedFile) -> StoredFile:
    about, content = one.about, one.content
    if isinstance(content, bytes):
        return store.put_bytes(content, about.name, about.media_type)
    try:
        return store.put(content, about.name, about.media_type)
    except OSError as wrong:
        raise BadRequestError(f"{content}: {wrong.strerror}") from None
