"""The folder where environments lie: who uses which, what they take, and which go when they take too much."""

import contextlib
import logging
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from .locks import held, held_if_free
from .uv import BuildFailedError, BuildTimeoutError, Limits, run_uv

LAST_USED = ".last-used"
BYTES = ".bytes"
"""In each environment: what it takes on disk, as it was measured when it was built."""

PRUNE_PATIENCE_S = 5.0
"""uv prunes its cache only while no other uv uses it; a build of minutes is not waited for."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Shelf:
    """Threads and processes may share it. `max_bytes` holds for all of it; None: no limit."""

    folder: Path
    max_bytes: int | None = None

    @property
    def cache(self) -> Path:
        """uv's own, which counts too; a worker that was given another one (UV_CACHE_DIR) leaves that alone."""
        return self.folder / ".uv-cache"

    def temporary(self, key: str) -> Path:
        return self.folder / f"{key}.{uuid.uuid4().hex}.tmp"

    def building(
        self, key: str, cancelled: Event, waits: Callable[[], None] | None = None
    ) -> AbstractContextManager[None]:
        """Raises: BuildCancelledError: while it waited."""
        return held(self._build_lock(key), cancelled, waits=waits)

    @contextlib.contextmanager
    def in_use(self, key: str, cancelled: Event) -> Iterator[None]:
        """While inside, nobody removes the environment.

        Raises:
            BuildCancelledError: while it waited for one that is being removed.
        """
        with contextlib.ExitStack() as lease:
            # Where no lock can be written, nothing can be removed either.
            with contextlib.suppress(OSError):
                lease.enter_context(held(self._lease(key), cancelled, shared=True))
            yield

    def used(self, key: str) -> None:
        with contextlib.suppress(OSError):
            (self.folder / key / LAST_USED).touch()

    def sweep(self, key: str) -> None:
        """Remove what builders of this environment left who were killed; call it under the build's lock."""
        for stale in self.folder.glob(f"{key}.*.tmp"):
            shutil.rmtree(stale, ignore_errors=True)

    def make_room(self, cancelled: Event) -> None:
        """Keep to the limit: what uv can fetch again goes first, then environments, the least recently used
        first; one that is in use stays.

        Raises:
            BuildCancelledError: while it waited.
        """
        with held(self.folder / ".locks" / "room", cancelled):
            try:
                self._sweep_all()
                if self.max_bytes is not None and self._taken() > self.max_bytes:
                    self._prune(cancelled)
                    self._remove_least_used(self._taken() - self.max_bytes)
            except OSError as wrong:
                log.warning("cannot make room in %s: %s", self.folder, wrong)

    def _prune(self, cancelled: Event) -> None:
        folder = self.temporary("prune")
        folder.mkdir()
        try:
            # --ci: packages that were fetched go, those that were built from source stay.
            limits = Limits(time.monotonic() + PRUNE_PATIENCE_S, cancelled)
            run_uv(["cache", "prune", "--ci"], folder, self.cache, limits)
        except (BuildFailedError, BuildTimeoutError) as wrong:
            log.info("uv's cache was not pruned: %s", wrong)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _remove_least_used(self, too_much: int) -> None:
        for environment in sorted(self._environments(), key=_last_used):
            if too_much <= 0:
                return
            size = _bytes(environment)
            if self._removed(environment):
                log.info("removed the environment %s, %d MB", environment.name, size // 1_000_000)
                too_much -= size
        if too_much > 0:
            log.warning("%s takes %d MB more than it may, all of it in use", self.folder, too_much // 1_000_000)

    def _removed(self, environment: Path) -> bool:
        with held_if_free(self._lease(environment.name)) as free:
            if not free:
                return False
            dead = environment.rename(self.temporary(environment.name))
        shutil.rmtree(dead, ignore_errors=True)
        return True

    def _sweep_all(self) -> None:
        for key in {stale.name.partition(".")[0] for stale in self.folder.glob("*.tmp")}:
            with held_if_free(self._build_lock(key)) as free:
                if free:
                    self.sweep(key)

    def _taken(self) -> int:
        """Bytes on disk. What uv has linked into environments counts there, and in each of them."""
        return sum(map(_bytes, self._environments())) + sum(
            entry.st_blocks * 512 for entry in _files(self.cache) if entry.st_nlink == 1
        )

    def _environments(self) -> list[Path]:
        return [path.parent for path in self.folder.glob("*/pyvenv.cfg") if path.parent.suffix != ".tmp"]

    def _build_lock(self, key: str) -> Path:
        return self.folder / ".locks" / key

    def _lease(self, key: str) -> Path:
        # Beside the environments and not in them: a script reads its own, and could hold a lock there for ever.
        return self.folder / ".in-use" / key


def measure(environment: Path) -> int:
    """Write down what it takes, so that nobody has to walk it again."""
    taken = sum(file.st_blocks * 512 for file in _files(environment))
    (environment / BYTES).write_text(str(taken))
    return taken


def _bytes(environment: Path) -> int:
    try:
        return int((environment / BYTES).read_text())
    except (FileNotFoundError, ValueError):
        return measure(environment)


def _last_used(environment: Path) -> float:
    with contextlib.suppress(FileNotFoundError):
        return (environment / LAST_USED).stat().st_mtime
    return 0.0


def _files(folder: Path) -> Iterator[os.stat_result]:
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                yield (Path(parent) / name).lstat()
