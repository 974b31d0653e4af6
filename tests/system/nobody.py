"""Becomes an ordinary user, to whom Python and this repository are within reach, and then another program.

Run as root: `python -m tests.system.nobody HOME COMMAND...`. What lies below a folder that is closed to others is
mounted again where it was, in a mount namespace of its own; HOME is given to the user.
"""

import ctypes
import os
import sys
from pathlib import Path

UID = 65_534
ROOT = Path(__file__).parents[2]
CLONE_NEWNS = 0x00020000
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    home, command = Path(sys.argv[1]), sys.argv[2:]
    _checked(libc.unshare(CLONE_NEWNS))
    _mount("none", Path("/"), None, MS_REC | MS_PRIVATE)
    open_up([Path(sys.base_prefix), Path(sys.prefix), ROOT])
    os.chown(home, UID, UID)
    os.setgroups([])
    os.setgid(UID)
    os.setuid(UID)
    os.environ.update(HOME=str(home), PYTHONDONTWRITEBYTECODE="1")
    os.execv(command[0], command)


def open_up(paths: list[Path]) -> None:
    """Cover the topmost closed folder above each path, and show nothing of it but the paths."""
    found = {path: os.open(path, os.O_PATH) for path in paths}
    for top in dict.fromkeys(top for path in paths if (top := _closed(path))):
        _mount("none", top, "tmpfs", 0, "mode=755")
        for path, descriptor in found.items():
            if path.is_relative_to(top):
                path.mkdir(parents=True, exist_ok=True)
                _mount(f"/proc/self/fd/{descriptor}", path, None, MS_BIND | MS_REC)


def _closed(path: Path) -> Path | None:
    return next((top for top in reversed(path.parents) if not top.stat().st_mode & 1), None)


def _mount(source: str, target: Path, kind: str | None, flags: int, options: str | None = None) -> None:
    words = [text and text.encode() for text in (source, str(target), kind)]
    _checked(libc.mount(*words, ctypes.c_ulong(flags), options and options.encode()))


def _checked(failed: int) -> None:
    if failed:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main()
