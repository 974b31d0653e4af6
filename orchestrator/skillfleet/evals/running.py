"""Cases, submitted together and awaited."""

from collections.abc import Callable, Sequence

from ..fleet import Fleet
from .cases import Case
from .results import CaseResult, case_result


def run_cases(fleet: Fleet, cases: Sequence[Case], ended: Callable[[], None]) -> list[CaseResult]:
    """In their order. `ended` is called as each has ended; if it, or anything, raises, what is open is cancelled."""
    names: list[str] = []
    results: list[CaseResult] = []
    try:
        for name in fleet.submit_batch(case.submission for case in cases):
            names.append(name)
        for case, name in zip(cases, names, strict=True):
            report = fleet.result(name)
            results.append(case_result(case, report, fleet.transcript(name)))
            ended()
    except KeyboardInterrupt:
        for name in names[len(results) :]:
            fleet.cancel(name)
        raise
    return results
