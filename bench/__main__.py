"""`make bench`: side by side with the naive Celery way, in one run."""

import argparse
import os
import platform
import signal
import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .cancel import measure_deaths
from .cost import cost_ms
from .execution.part import execution
from .fleet import Pair
from .hop import INSIDE_LUA, PARTS, Hops, measure_hops
from .measure import at_least, better_by, compared, interleaved, row, summary
from .sides import Side, latency_ms, rate
from .startup import Start, import_ms, measure_start

TOOL_SLOTS = 2
AT_ONCE = 8
ONE_CALL = "One tool call, print(2+2), until its result is known"
ONE_CALL_AIM = 2
PARTS_OF_ALL = ("sides", "hop", "startup", "cancel", "execution")


@dataclass(frozen=True, slots=True)
class Size:
    rounds: int
    calls: int
    conversations: int
    hops: int
    starts: int


FULL = Size(rounds=10, calls=40, conversations=24, hops=20, starts=7)
QUICK = Size(rounds=3, calls=16, conversations=8, hops=10, starts=2)


def heading(text: str) -> None:
    print(f"\n{text}", flush=True)


def machine() -> None:
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{os.cpu_count()} cores, {platform.system()} {platform.release()}, load {load}")
    print(f"Python {platform.python_version()}")


def parts_of(pair: Pair) -> None:
    print(
        f"Celery {version('celery')}, kombu {version('kombu')}, "
        f"redis-server {pair.redis_version} (append-only file, fsync always; the same one for both sides)"
    )
    print(f"{TOOL_SLOTS} tool slots on each side; the peer has {AT_ONCE} processes for conversations")


def side_by_side(pair: Pair, size: Size) -> None:
    cases: list[tuple[str, str, bool, Callable[[Side], Callable[[], Sequence[float]]]]] = [
        (ONE_CALL, "ms", False, lambda s: latency_ms(s.call, 8)),
        (f"Tool calls a second, {size.calls} at once", "/s", True, lambda s: rate(s.call, size.calls)),
        ("One conversation of 3 calls, instant model", "ms", False, lambda s: latency_ms(s.converse, 4)),
        (
            f"Conversations a second, {size.conversations} at once",
            "/s",
            True,
            lambda s: rate(s.converse, size.conversations),
        ),
    ]
    for title, unit, more_is_better, case in cases:
        found = interleaved({"ours": case(pair.ours), "peer": case(pair.naive)}, size.rounds)
        ours, peer = summary(found["ours"]), summary(found["peer"])
        heading(title)
        print(row("skillfleet", ours, unit))
        print(row("naive Celery", peer, unit))
        print(compared(ours, peer, more_is_better=more_is_better))
        if title == ONE_CALL:
            print(at_least("one call, times as fast as the peer's", better_by(ours, peer), ONE_CALL_AIM))


def processor_time(pair: Pair, size: Size) -> None:
    heading("Processor time of one such conversation, without the scripts (ms, median)")
    sides: dict[str, tuple[Side, tuple[str, ...]]] = {
        "skillfleet": (pair.ours, ("orchestrator", "worker", "redis")),
        "naive Celery": (pair.naive, ("conversations", "tools", "redis")),
    }
    for name, (side, parts) in sides.items():
        spent = [cost_ms(pair.sessions, side.converse, size.conversations) for _ in range(3)]
        middle = {part: statistics.median(one[part] for one in spent) for part in parts}
        print(f"  {name:<28}{sum(middle.values()):>9.1f}        {_listed(middle)}")


def hop_by_part(pair: Pair, size: Size) -> None:
    hops, took = measure_hops(pair.settings, size.rounds, size.hops)
    heading("One hop through Celery, list_skills, one at a time until the result is known (ms)")
    for name, samples in took.items():
        print(row(name, summary(samples), "ms"))
    heading("The hop as shipped, by part (ms since the send began, median; what came between)")
    _print_timeline(hops["as shipped"].timeline())
    heading("Redis commands a hop (INFO commandstats)")
    for name, one in hops.items():
        _print_commands(name, one)


def _print_timeline(at: dict[str, float]) -> None:
    meaning = {
        "sent": "published, and task-sent told",
        "received": "taken from the broker by the worker",
        "begun": "handed to a thread of the pool",
        "claimed": "claimed (Lua)",
        "ran": "the tool has run",
        "committed": "committed (Lua)",
        "known": "read by a follower",
        "returned": "the task has returned",
        "stored": "result written to the result backend",
    }
    before = {"sent": "", "received": "", "known": "committed", "returned": "committed", "stored": "returned"}
    for part, last in zip(PARTS, ("", *PARTS), strict=False):
        since = at.get(before.get(part, last), 0.0)
        print(f"  {meaning[part]:<38}{at[part]:>7.2f}  {at[part] - since:>+6.2f}")


def _print_commands(name: str, hop: Hops) -> None:
    outside = {command: calls for command, calls in hop.commands.items() if command not in INSIDE_LUA}
    print(f"  {name:<18}{sum(outside.values()):>5.1f} sent: {_listed(outside)}")


def _listed(values: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.1f}" for name, value in sorted(values.items(), key=lambda item: -item[1]))


def startup(size: Size) -> None:
    heading(f"`skillfleet submit` with nothing running (ms, median of {size.starts}; what came between)")
    starts = [measure_start() for _ in range(size.starts)]
    meaning = {
        "redis_started": "python and imports, until redis starts",
        "redis_ready": "redis is ready",
        "submitted": "the conversation is stored",
        "claimed": "claimed; the model is about to be asked",
        "first_request": "FIRST MODEL REQUEST at the provider",
        "script_started": "the worker is up, its first script starts",
        "answered": "the conversation has its answer",
        "ended": "submit has ended, nothing runs",
    }
    last = 0.0
    for field in fields(Start):
        value = statistics.median(getattr(start, field.name) for start in starts)
        print(f"  {meaning[field.name]:<44}{value:>7.0f}  {value - last:>+6.0f}")
        last = value
    for module in ("openai", "celery", "skillfleet.cli"):
        print(f"  importing {module} alone{import_ms(module):>{42 - len(module)}.0f}")


def cancel(size: Size) -> None:
    heading("Until the last process of a running script is dead, daemons included (ms)")
    deaths = measure_deaths(cancels=size.hops, deadlines=size.starts)
    print(row("after a cancellation", summary(deaths.after_cancel), "ms"))
    print(row("after its deadline", summary(deaths.after_deadline), "ms"))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--only", choices=PARTS_OF_ALL, help="one part of it")
    given = parser.parse_args()
    size = QUICK if given.quick else FULL
    for name in [name for name in os.environ if name.startswith(("SKILLFLEET_", "LLM_", "SKILLS_", "SCRIPT_"))]:
        del os.environ[name]
    signal.signal(signal.SIGTERM, _end)
    machine()
    if given.only in (None, "sides", "hop"):
        with (
            tempfile.TemporaryDirectory(prefix="skillfleet-bench-") as folder,
            Pair(Path(folder), TOOL_SLOTS, AT_ONCE) as pair,
        ):
            parts_of(pair)
            if given.only != "hop":
                side_by_side(pair, size)
                processor_time(pair, size)
            if given.only != "sides":
                hop_by_part(pair, size)
    if given.only in (None, "startup"):
        startup(size)
    if given.only in (None, "cancel"):
        cancel(size)
    if given.only in (None, "execution"):
        execution(quick=given.quick)


def _end(*_: Any) -> None:
    raise SystemExit(143)


if __name__ == "__main__":
    main()
