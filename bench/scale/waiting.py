"""What a conversation costs in memory while it waits for its model."""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from ..measure import heading
from .deployment import Deployment, until

LONG_S = 600.0
"""A model that has not answered when all has been measured."""

WARM_UP = 20
STEADY_S = 2.0
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def waiting(count: int) -> None:
    heading(f"Memory of {count} conversations that wait for their model at once, each in a slot of its own")
    for title, model in (("scripted model", Deployment.scripted), ("real HTTP, official SDK", Deployment.over_http)):
        _measure(title, model, count)
    print("  One that waits for a tool, a person or a free slot holds no memory of an orchestrator.")


def _measure(title: str, model: Callable[[Deployment, int, float], str], count: int) -> None:
    with tempfile.TemporaryDirectory(prefix="skillfleet-bench-") as folder, Deployment(Path(folder), count) as fleet:
        orchestrator = fleet.pid("orchestrator")
        fleet.converse(model(fleet, 1, 0), WARM_UP, calls=1)
        idle, stored, threads = _settled(orchestrator), fleet.redis_bytes(), _threads(orchestrator)
        fleet.submit(model(fleet, 1, LONG_S), count)
        until(lambda: _threads(orchestrator) >= threads + count, f"{count} conversations were not taken")
        full = _settled(orchestrator)
        each, in_redis = (full - idle) / count, (fleet.redis_bytes() - stored) / count
    print(
        f"  {title:<28}{each / 1024:>9.1f} KiB each  ({idle / 2**20:.0f} MiB idle, {full / 2**20:.0f} MiB with all)"
        f", in redis {in_redis / 1024:.1f} KiB each"
    )


def _resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES


def _threads(pid: int) -> int:
    return sum(1 for _ in Path(f"/proc/{pid}/task").iterdir())


def _settled(pid: int) -> int:
    """Resident bytes, once they have not grown for a while."""
    most, since = _resident_bytes(pid), time.monotonic()
    while time.monotonic() - since < STEADY_S:
        time.sleep(0.05)
        if (now := _resident_bytes(pid)) > most:
            most, since = now, time.monotonic()
    return most
