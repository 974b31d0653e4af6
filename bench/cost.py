"""Processor time by part of a side: unlike wall time it hardly depends on what else the machine does."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")


def spent_ms(sessions: Mapping[str, int]) -> dict[str, float]:
    """User and system time so far of all processes of each session, without that of children that have ended
    (the scripts)."""
    by_session: dict[int, float] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        session = int(fields[3])
        by_session[session] = by_session.get(session, 0.0) + (int(fields[11]) + int(fields[12])) * TICK_MS
    return {name: by_session.get(session, 0.0) for name, session in sessions.items()}


def cost_ms(sessions: Mapping[str, int], action: Callable[[int], float], count: int) -> dict[str, float]:
    """Processor milliseconds for each of `count`, by part."""
    before = spent_ms(sessions)
    action(count)
    after = spent_ms(sessions)
    return {name: (after[name] - before[name]) / count for name in sessions}
