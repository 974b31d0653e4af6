"""Four threads that each run one script after the other."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from ..measure import at_least, better_by
from ..sides import SCRIPT
from .latency import NAIVE, WARM, measured, print_against
from .ours import PANDAS, PANDAS_SAYS, SAYS, Ours
from .peers import Run, naive, python

CALLERS = 4


def throughput(ours: Ours, rounds: int) -> None:
    trivial, pandas = ours.request(), ours.pandas()
    with ThreadPoolExecutor(CALLERS) as callers:

        def rate(run: Run, count: int) -> Callable[[], Sequence[float]]:
            return lambda: [_rate(callers, run, count)]

        for title, request, script, says, naive_count, wanted in (
            (SCRIPT, trivial, SCRIPT, SAYS, 80, 2),
            ("import pandas", pandas, PANDAS, PANDAS_SAYS, 4, 40),
        ):
            print(f"\n{title}, {CALLERS} callers (runs a second)")
            cases = {
                NAIVE: rate(naive(python(request.interpreter, script), says), naive_count),
                WARM: rate(lambda r=request, s=says: ours.check("warm", r, s), 160),  # type: ignore[misc]
            }
            found = measured(cases, rounds)
            print_against(NAIVE, found, "/s", more_is_better=True)
            factor = better_by(found[WARM], found[NAIVE], more_is_better=True)
            print(at_least("the sandbox's rate against naive's, times as many", factor, wanted))


def _rate(callers: ThreadPoolExecutor, run: Run, count: int) -> float:
    began = time.perf_counter()
    for flight in [callers.submit(run) for _ in range(count)]:
        flight.result()
    return count / (time.perf_counter() - began)
