"""Starts a sandbox: joins its control groups, becomes its user, and then is bubblewrap.

A program of its own, run as `python -I -S launch.py SPEC COMMAND...`; SPEC is JSON: `join` (files that take in the
process that writes into them), `user` (null: remain who we are), `sources`. Where COMMAND says `@N`, the path of
source N is meant. Another user may not be able to walk to it, so it is mounted first where anybody can.
"""

import ctypes
import json
import os
import stat
import sys
from typing import Any

MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
CLONE_NEWNS = 0x00020000
STAGE = "/mnt"
libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    spec, command = json.loads(sys.argv[1]), sys.argv[2:]
    for path in spec["join"]:
        write(path, b"0")
    sources = spec["sources"]
    if spec["user"] is not None:
        sources = staged(sources)
        os.setgroups([])
        os.setgid(spec["user"])
        os.setuid(spec["user"])
    command = [sources[int(word[1:])] if word.startswith("@") else word for word in command]
    os.execv(command[0], command)


def staged(sources: list[str]) -> list[str]:
    """The same files and folders, in a mount namespace of our own."""
    must("unshare", libc.unshare(CLONE_NEWNS))
    must("keep mounts to myself", mount(b"none", b"/", None, MS_REC | MS_PRIVATE))
    opened = [os.open(path, os.O_PATH) for path in sources]  # before the stage covers any of them
    must(f"mount {STAGE}", mount(b"tmpfs", STAGE.encode(), b"tmpfs", 0, b"mode=755"))
    places = []
    for number, descriptor in enumerate(opened):
        place = f"{STAGE}/{number}"
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            os.mkdir(place)
        else:
            write(place, b"")
        must(
            f"bind {sources[number]}", mount(b"/proc/self/fd/%d" % descriptor, place.encode(), None, MS_BIND | MS_REC)
        )
        os.close(descriptor)
        places.append(place)
    return places


def mount(source: bytes, target: bytes, kind: bytes | None, flags: int, options: bytes | None = None) -> Any:
    return libc.mount(source, target, kind, ctypes.c_ulong(flags), options)


def must(what: str, failed: int) -> None:
    if failed:
        sys.exit(f"cannot {what}: {os.strerror(ctypes.get_errno())}")


def write(path: str, text: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    os.write(descriptor, text)
    os.close(descriptor)


if __name__ == "__main__":
    main()
