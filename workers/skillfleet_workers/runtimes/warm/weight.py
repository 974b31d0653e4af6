"""What processes weigh where no control group counts it."""

from pathlib import Path

KB = 1024


def weight_below(pid: int) -> int:
    """In bytes, of all that descends from a process: what they share is counted once. Of those that may not be looked
    into (an ordinary user's in a sandbox) the largest stands for all, as they are forks of it."""
    shares, largest = 0, 0
    for one in _descendants(pid):
        try:
            shares += _field(one, "smaps_rollup", b"Pss:")
        except PermissionError:
            largest = max(largest, _resident(one))
        except OSError:
            continue  # it has just ended
    return shares + largest


def _descendants(pid: int) -> list[int]:
    found = [pid]
    for one in found:
        try:
            for listing in Path(f"/proc/{one}/task").glob("*/children"):
                found += map(int, listing.read_bytes().split())
        except OSError:
            continue
    return found[1:]


def _resident(pid: int) -> int:
    try:
        return _field(pid, "status", b"VmRSS:")
    except OSError:
        return 0


def _field(pid: int, file: str, name: bytes) -> int:
    """0 where there is none: it is dead, or a part of the kernel."""
    words = Path(f"/proc/{pid}/{file}").read_bytes().split()
    return int(words[words.index(name) + 1]) * KB if name in words else 0
