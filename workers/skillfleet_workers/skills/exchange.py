"""Two folders of one file system, exchanged."""

import ctypes
import errno
import os
from collections.abc import Callable
from pathlib import Path

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_CANNOT = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)

_renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)


def at_once(new: Path, old: Path) -> bool:
    """False: the system cannot. Raises: OSError"""
    if _renameat2 is None:
        return False
    if not _renameat2(_AT_FDCWD, os.fsencode(new), _AT_FDCWD, os.fsencode(old), _RENAME_EXCHANGE):
        return True
    failed = ctypes.get_errno()
    if failed in _CANNOT:
        return False
    raise OSError(failed, os.strerror(failed), str(old))


def exchange(new: Path, old: Path, try_first: Callable[[Path, Path], bool] = at_once) -> None:
    """All at once where the system can; else there is a moment without `old`. When it fails, all is as before.

    Raises:
        OSError
    """
    if try_first(new, old):
        return
    aside = new.with_name(f"{new.name}.aside")
    old.rename(aside)
    try:
        new.rename(old)
    except OSError:
        aside.rename(old)
        raise
    aside.rename(new)
