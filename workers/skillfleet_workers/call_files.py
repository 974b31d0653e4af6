"""Files of conversations on a worker: what was handed in, for its runs; what runs leave, for the store."""

import logging
import time
from collections.abc import Sequence
from pathlib import Path

from .wire.contract import ToolError
from .wire.execution import Artifact, ScriptExecution
from .wire.files import MAX_INPUT_BYTES, MAX_INPUT_FILES, StoredFile
from .wire.store import ArtifactStore, FileTooLargeError, StoreError, is_digest
from .wire.store_places import YOUNG_S

INPUTS = "inputs"
"""In the state folder: what was fetched for runs, under its digest."""

MOST_FETCHED_BYTES = 2 << 30
"""Above that the oldest go; what the store has here itself takes no room a second time."""

log = logging.getLogger(__name__)


class CallFiles:
    """Safe to share between threads, and between workers with one state folder."""

    def __init__(self, store: ArtifactStore, folder: Path, most_bytes: int = MOST_FETCHED_BYTES) -> None:
        """`folder`: for what is fetched."""
        self.store = store
        self._folder, self._most_bytes = folder, most_bytes

    def inputs(self, files: Sequence[StoredFile]) -> dict[str, Path] | ToolError:
        """By their names: read-only files, here for the next day. Raises: StoreError."""
        if len(files) > MAX_INPUT_FILES or sum(file.bytes for file in files) > MAX_INPUT_BYTES:
            told = f"The conversation has more than {MAX_INPUT_FILES} files, or {MAX_INPUT_BYTES >> 20} MB of them."
            return ToolError(error="inputs_too_large", message=told, fix="Tell the user to hand in less.")
        found: dict[str, Path] = {}
        for file in files:
            path = self._fetched(file.digest)
            if path is None:
                told = f"The file {file.name!r} of this conversation is not in the artifact store any more."
                return ToolError(error="input_expired", message=told, fix="Tell the user to hand it in again.")
            found[file.name] = path
        return found

    def stored(self, run: ScriptExecution, task_id: str) -> ScriptExecution:
        """The same, whose artifacts have their digests; those that the store does not take stay as they are."""
        kept: list[Artifact] = []
        reachable = True
        for artifact in run.artifacts:
            if reachable:
                try:
                    taken = self.store.adopt(Path(artifact.location), artifact.path, artifact.media_type)
                    artifact = artifact.model_copy(update={"digest": taken.digest})
                except StoreError as wrong:
                    log.warning("call %s: %s is on this worker alone: %s", task_id, artifact.path, wrong)
                    reachable = isinstance(wrong, FileTooLargeError)
            kept.append(artifact)
        return run.model_copy(update={"artifacts": tuple(kept)})

    def prune(self) -> None:
        """Of what was fetched: what nobody has asked for since the day before, and what is too much."""
        now, room = time.time(), self._most_bytes
        fetched = [(file.stat(), file) for file in self._folder.iterdir()] if self._folder.is_dir() else []
        for about, file in sorted(fetched, key=lambda one: one[0].st_mtime, reverse=True):
            room -= about.st_size if about.st_nlink == 1 else 0
            if room < 0 or about.st_mtime < now - 2 * YOUNG_S:
                file.unlink(missing_ok=True)

    def _fetched(self, digest: str) -> Path | None:
        if not is_digest(digest):
            return None
        path = self._folder / digest
        try:
            if path.exists() and time.time() - path.stat().st_mtime < YOUNG_S:
                return path
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Also what is here is asked for once a day: it is young again in the store.
            return path if self.store.share(digest, path) else None
        except OSError as wrong:
            raise StoreError(
                f"{self._folder} cannot be used: {wrong}; make room there, or let it be written to"
            ) from wrong
