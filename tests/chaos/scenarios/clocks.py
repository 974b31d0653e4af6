"""Clocks that disagree."""

import random
from pathlib import Path

from .scenario import Verdict
from .siege import besieged

LIBRARY = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)


def clock_an_hour_off(_: random.Random, full: bool) -> Verdict:
    """One orchestrator's clock is an hour ahead, the other's an hour behind; one of them is killed."""
    with besieged(envs=[_off("+1h"), _off("-1h")]) as siege:
        siege.submit(40 if full else 12)
        siege.in_the_midst()
        if full:
            siege.crew.kill(siege.crew.of("orchestrator")[0])
        siege.all_end()
    return siege.verdict


def missing() -> str:
    """What the machine lacks for it."""
    return "" if LIBRARY else "libfaketime (apt-get install faketime)"


def _off(by: str) -> dict[str, str]:
    return {"LD_PRELOAD": str(LIBRARY), "FAKETIME": by}
