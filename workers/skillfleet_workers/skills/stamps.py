"""Stamps: cheap signs that a file or folder is still what it was when it was read."""

import os
import time

Stamp = tuple[int, ...]

SETTLED_NS = 100_000_000
"""Clocks of file systems tick: two changes closer together than this may leave one stamp."""


def stamp_of(status: os.stat_result) -> Stamp:
    return status.st_dev, status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def settled(stamp: Stamp) -> bool:
    """Whether what changes from now on leaves another stamp. What is not there has none, and is settled."""
    return max(stamp[4:], default=0) < time.time_ns() - SETTLED_NS
