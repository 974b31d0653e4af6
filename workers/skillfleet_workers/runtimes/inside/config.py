"""What the worker tells the program inside, as the hexadecimal digits of marshalled attributes of a Config."""

from __future__ import annotations

import marshal

MARSHAL_VERSION = 4

WORK = "/tmp/run"
OUTPUT = "output"
"""A run's work folder as its script sees it, and the part of it that is handed back."""

INPUTS = "inputs"
"""The part of it with what was handed in."""

DESCRIPTORS = 80
"""Most that come with a request: three streams, what is to lie in the work folder."""


NO_CORE = 1
"""In bytes. 0 would not keep a crash from starting the program that a host may pipe core dumps into."""


class Config:
    """`imports` are loaded ahead of every run. `execs`: a run is the start of a program, not a Python script in here.
    `inits`: how many runs may be made ready or be on. `nested`: every init has namespaces of its own, else runs share
    `emptied` with those before them.

    `readable` and `writable`: paths for Landlock, which is left out where both are empty. `hidden`: paths that the
    mounts of a run would cover. `filter`: a seccomp program. Limits of 0 are none.
    """

    folder: str = "/"
    work: str = WORK
    emptied: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    execs: bool = False
    inits: int = 1
    nested: bool = True
    network: bool = False
    disk_mb: int = 256
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    filter: bytes = b""
    memory_mb: int = 0
    pids: int = 0
    cpu_seconds: int = 0

    def __init__(self, **fields: object) -> None:
        vars(self).update(fields)

    def encoded(self) -> str:
        return marshal.dumps(vars(self), MARSHAL_VERSION).hex()
