"""From a run's deadline to its return, and what of it lives by then."""

import os
import secrets
import select
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from tests.conformance.living import MARK, marked, named
from tests.conformance.scripts import DAEMON_THEN_SLEEP

from skillfleet_workers.runtimes.base import RunRequest, Runtime

from ..fleet import BenchError
from ..measure import at_least
from .ours import Ours

LIMIT_S = 0.5
PROCESSES = 2
TRIES = 3
"""A machine that stalls may not have started the script by its deadline: that run says nothing about its end."""

AIM_MS = 50


@dataclass(frozen=True, slots=True)
class Death:
    """`alive`: processes of the script when `run` had returned; `late_ms`: after the deadline."""

    alive: int
    late_ms: float


def deadlines(ours: Ours, times: int) -> None:
    print(f"\nA daemon that double-forks and setsids; its script's limit is {LIMIT_S} s (ms from then to the return")
    print("of run(), counted from its call; who lives is asked of the host at the moment of the return)")
    for name in ("warm", "process"):
        if name not in ours.runtimes:
            continue
        deaths = [_death(ours.runtimes[name], ours.request(script=DAEMON_THEN_SLEEP)) for _ in range(times)]
        dead = sum(not death.alive for death in deaths)
        late = [death.late_ms for death in deaths]
        print(f"  our {name:<24}{statistics.median(late):>9.2f} ms     (at most {max(late):.2f}, {times} runs)")
        print(at_least(f"{name}: all dead at the return, of {times}", dead, times))
        in_time = sum(not death.alive and death.late_ms <= AIM_MS for death in deaths)
        print(at_least(f"{name}: all dead at most {AIM_MS} ms after the deadline, of {times}", in_time, times))


def _death(runtime: Runtime, request: RunRequest) -> Death:
    for _ in range(TRIES):
        if (death := _watched_death(runtime, request)) is not None:
            return death
    raise BenchError("a script did not come to live before its deadline")


def _watched_death(runtime: Runtime, request: RunRequest) -> Death | None:
    mark = secrets.token_hex(8)
    request = replace(request, environment={**request.environment, MARK: mark}, timeout_s=LIMIT_S)
    with ThreadPoolExecutor(1) as pool:
        flight = pool.submit(_timed_out, runtime, request)
        watched = _seen_alive(mark)
        late_ms = flight.result()
    if not watched:
        return None
    try:
        dead = select.select(watched, [], [], 0)[0]
        alive = max(len(watched) - len(dead), len(marked(mark)))
    finally:
        for one in watched:
            os.close(one)
    return Death(alive, late_ms)


def _timed_out(runtime: Runtime, request: RunRequest) -> float:
    began = time.perf_counter()
    done = runtime.run(request)
    late_ms = (time.perf_counter() - began - LIMIT_S) * 1000
    if done.status != "timed_out":
        raise BenchError(f"a run did not reach its deadline: {done}")
    return late_ms


def _seen_alive(mark: str) -> list[int]:
    """A pidfd of the script and one of its daemon; none where they do not come to live in time."""
    give_up = time.monotonic() + LIMIT_S
    while len(found := named(mark)) < PROCESSES:
        if time.monotonic() > give_up:
            return []
        time.sleep(0.01)
    return [os.pidfd_open(pid) for pid in found]
