"""skills.lock: what was installed into a root, so that whoever runs it can tell that it is still that."""

import errno
import fcntl
import os
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

LOCKFILE = "skills.lock"
HELD = ".skills.lock.held"
"""Who changes a root holds this file locked; it stays there, empty."""

MAX_BYTES = 4 << 20


class LockfileError(Exception):
    """skills.lock cannot be read; one line that says why, and the fix."""


class LockedSkill(BaseModel):
    """`digest` of the folder as it was installed; `source` without credentials, of a repository with its commit."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    version: str
    digest: str
    source: str


class Lock(BaseModel):
    """Sorted by name, each name once."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    skills: tuple[LockedSkill, ...] = ()

    def find(self, name: str) -> LockedSkill | None:
        return next((skill for skill in self.skills if skill.name == name), None)

    def without(self, name: str) -> "Lock":
        return Lock(skills=tuple(skill for skill in self.skills if skill.name != name))

    def having(self, skill: LockedSkill) -> "Lock":
        kept = (*self.without(skill.name).skills, skill)
        return Lock(skills=tuple(sorted(kept, key=lambda one: one.name)))


def read_lock(root: Path) -> Lock:
    """Of a root without one: empty.

    Raises:
        LockfileError
    """
    path = root / LOCKFILE
    try:
        with os.fdopen(_opened(path), "rb") as file:
            text = file.read(MAX_BYTES + 1)
        if len(text) > MAX_BYTES:
            raise LockfileError(f"{path}: has more than {MAX_BYTES >> 20} MB; restore it, or remove it")
        return Lock.model_validate_json(text)
    except FileNotFoundError:
        return Lock()
    except OSError as failed:
        raise LockfileError(f"{path}: cannot be read ({failed.strerror}); restore it, or remove it") from None
    except ValidationError as wrong:
        first = wrong.errors(include_url=False)[0]
        where = "".join(f"{part}: " for part in first["loc"])
        raise LockfileError(f"{path}: {where}{first['msg']}; restore it, or remove it") from None


def _opened(path: Path) -> int:
    """Raises OSError: of what is no file too, such as a pipe, on which a read would wait."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    return descriptor


def write_lock(root: Path, lock: Lock) -> None:
    """All at once; only by who has `held` the root. Raises: OSError"""
    descriptor, name = tempfile.mkstemp(prefix=f".{LOCKFILE}-", dir=root)
    written = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(lock.model_dump_json(indent=2) + "\n")
            file.flush()
            os.fsync(file.fileno())
        written.chmod(0o644)
        written.replace(root / LOCKFILE)
    except BaseException:
        written.unlink(missing_ok=True)
        raise


@contextmanager
def held(root: Path) -> Iterator[None]:
    """One at a time changes what is installed in a root; the others wait. Raises: OSError"""
    # Not the folder itself: network file systems lock only what is open for writing.
    descriptor = os.open(root / HELD, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def verify(root: Path, digest_of: Callable[[Path], str]) -> Mapping[str, str]:
    """Each locked skill that is not what was installed, with the reason; of a root without a lock: none.

    Raises:
        LockfileError: nothing can be told of any skill of this root.
    """
    reasons = {skill.name: _difference(root / skill.name, skill, digest_of) for skill in read_lock(root).skills}
    return {name: reason for name, reason in reasons.items() if reason}


def _difference(folder: Path, skill: LockedSkill, digest_of: Callable[[Path], str]) -> str:
    if not folder.is_dir():
        return f"is in {LOCKFILE}, but its folder is missing"
    try:
        now = digest_of(folder)
    except OSError as failed:
        return f"cannot be compared with {LOCKFILE}: {failed.strerror}"
    return "" if now == skill.digest else f"differs from {LOCKFILE}: installed {skill.digest}, now {now}"
