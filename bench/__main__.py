"""`make bench`: side by side with the naive Celery way, in one run."""

import argparse
import os
import platform
import signal
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .cancel import cancel
from .discovery import discovery
from .durable.part import durable
from .execution.part import execution
from .family.children import children
from .family.messages import messages
from .fleet import Pair
from .hop_report import hop_by_part
from .plans.part import plans
from .records.part import records
from .scale.part import PARTS as PARTS_OF_SCALE
from .scale.part import scale
from .side_by_side import AT_ONCE, TOOL_SLOTS, print_parts, processor_time, side_by_side
from .startup import startup
from .streams.part import streams

REST: Mapping[str, Callable[..., None]] = {
    "execution": execution,
    "discovery": discovery,
    "durable": durable,
    "streams": streams,
    "children": children,
    "messages": messages,
    "records": records,
    "plans": plans,
}
PARTS = ("sides", "hop", "startup", "cancel", "scale", *PARTS_OF_SCALE, *REST)


@dataclass(frozen=True, slots=True)
class Size:
    rounds: int
    calls: int
    conversations: int
    hops: int
    starts: int


FULL = Size(rounds=10, calls=40, conversations=24, hops=20, starts=7)
QUICK = Size(rounds=3, calls=16, conversations=8, hops=10, starts=2)


def machine() -> None:
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{os.cpu_count()} cores, {platform.system()} {platform.release()}, load {load}")
    print(f"Python {platform.python_version()}")


def compared_with_celery(only: str | None, size: Size) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="skillfleet-bench-") as folder,
        Pair(Path(folder), TOOL_SLOTS, AT_ONCE) as pair,
    ):
        print_parts(pair)
        if only != "hop":
            side_by_side(pair, size.rounds, size.calls, size.conversations)
            processor_time(pair, size.conversations)
        if only != "sides":
            hop_by_part(pair.settings, size.rounds, size.hops)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, smaller loads")
    parser.add_argument("--only", choices=PARTS, help="one part of it; `scale` is " + ", ".join(PARTS_OF_SCALE))
    given = parser.parse_args()
    size = QUICK if given.quick else FULL
    for name in [name for name in os.environ if name.startswith(("SKILLFLEET_", "LLM_", "SKILLS_", "SCRIPT_"))]:
        del os.environ[name]
    signal.signal(signal.SIGTERM, _end)
    machine()
    if given.only in (None, "sides", "hop"):
        compared_with_celery(given.only, size)
    if given.only in (None, "startup"):
        startup(size.starts)
    if given.only in (None, "cancel"):
        cancel(size.hops, size.starts)
    for name, part in REST.items():
        if given.only in (None, name):
            part(quick=given.quick)
    if given.only in (None, "scale", *PARTS_OF_SCALE):
        scale(given.only, quick=given.quick)


def _end(*_: Any) -> None:
    raise SystemExit(143)


if __name__ == "__main__":
    main()
