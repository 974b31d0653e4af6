"""What this machine sets for single skills, in a file that is read again whenever it changes."""

import fcntl
import logging
import os
import stat
import tempfile
import threading
import time
from pathlib import Path

from .override_file import Override, OverrideFileError, overrides_in, with_enabled
from .problems import Problem

BROKEN = "overrides-broken"
NOTHING = Override()
UNKNOWN = Override(enabled=False, reason="this machine's settings of single skills cannot be used")

log = logging.getLogger(__name__)

_Stamp = tuple[int, ...]


class Overrides:
    """No file: nothing is set. While it cannot be used, what was read last holds, and `problem` says why; where
    nothing was read yet, every skill is off, as nobody knows which are meant to be. Safe to share between threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._read: dict[str, Override] | None = None
        self._stamp: _Stamp | None = None
        self._problem: Problem | None = None

    def of(self, name: str) -> Override:
        with self._lock:
            self._refresh()
            return UNKNOWN if self._read is None else self._read.get(name, NOTHING)

    @property
    def problem(self) -> Problem | None:
        with self._lock:
            self._refresh()
            return self._problem

    def _refresh(self) -> None:
        # Stamped before it is read: a change in between is then seen the next time.
        stamp = _stamp(self._path)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        found = _read(self._path) if stamp else {}
        if isinstance(found, Problem):
            log.warning("%s; %s", found, found.fix)
            self._problem = found
        else:
            self._read, self._problem = found, None


def set_enabled(path: Path, name: str, enabled: bool) -> Problem | None:
    """Turns a skill on or off on this machine. Problem: the file is broken, and was left as it is.

    Raises:
        OSError: the file cannot be written.
    """
    place = Path(os.path.realpath(path))
    place.parent.mkdir(parents=True, exist_ok=True)
    # Not the file itself: the lock must outlive its replacement.
    with place.with_name(f"{place.name}.lock").open("a") as lock:
        _hand_over(lock.fileno(), place)
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            text = place.read_text("utf-8") if place.exists() else ""
            text = with_enabled(text, name, time.time() if enabled else None)
        except (OverrideFileError, UnicodeDecodeError) as wrong:
            return _broken(path, wrong)
        _replace(place, text)
    return None


def _replace(place: Path, text: str) -> None:
    """Whole or not at all; for the eyes of its owner only."""
    descriptor, temporary = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            _hand_over(descriptor, place)
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        Path(temporary).replace(place)
    except BaseException:
        Path(temporary).unlink()
        raise


def _hand_over(descriptor: int, place: Path) -> None:
    """What root writes for a worker belongs to the worker's user, who could not read it otherwise."""
    if os.geteuid() == 0:
        owner = (place if place.exists() else place.parent).stat()
        os.fchown(descriptor, owner.st_uid, owner.st_gid)


def _read(path: Path) -> dict[str, Override] | Problem:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return _broken(path, OverrideFileError("it is no file"))
        return overrides_in(path.read_text("utf-8"))
    except (OSError, OverrideFileError, UnicodeDecodeError) as wrong:
        return _broken(path, wrong)


def _broken(path: Path, wrong: Exception) -> Problem:
    """Without a word of the file: it may hold secrets."""
    match wrong:
        case OSError():
            why = f"it cannot be read: {wrong.strerror}"
        case UnicodeDecodeError():
            why = "it is not UTF-8"
        case _:
            why = str(wrong)
    return Problem(
        BROKEN, f"the settings of single skills do not count: {why}", "Correct it.", str(path), severity="error"
    )


def _stamp(path: Path) -> _Stamp:
    """Empty: there is no file."""
    try:
        seen = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as wrong:
        return (wrong.errno or 0,)
    return seen.st_dev, seen.st_ino, seen.st_mode, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns
