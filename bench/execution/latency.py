"""One run at a time, beside the peers."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from itertools import count

from skillfleet_workers.runtimes.base import RunRequest

from ..measure import Case, Summary, at_least, at_most, better_by, interleaved, row, summary
from ..sides import SCRIPT
from .ours import PANDAS, PANDAS_SAYS, SAYS, SHELL_FILE, Ours, anew
from .peers import Run, bubblewrap, docker_run, naive, python
from .skillkit import Skillkit, SkillkitMissingError

IN_A_ROW = 10
NAIVE, WARM, CONTAINER, DOCKER = "naive subprocess.run", "our sandbox, warm", "our container, warm", "docker run --rm"


def trivial(ours: Ours, rounds: int) -> None:
    print(f"\n{SCRIPT}, one at a time (ms; how many times as fast as naive)")
    plain = python(ours.interpreter, SCRIPT)
    with ExitStack() as stack:
        cases: dict[str, Case] = {NAIVE: timed(naive(plain, SAYS))}
        for name, title in (("warm", WARM), ("process", "our plain process"), ("container", CONTAINER)):
            if name in ours.runtimes:
                cases[title] = timed(_own(ours, name))
            else:
                print(f"  without {title}: {ours.missing[name]}")
        if sandboxed := bubblewrap(plain):
            cases["bwrap --unshare-all"] = timed(naive(sandboxed, SAYS))
        if skillkit := _skillkit(ours, stack):
            cases["seed 001's library"] = timed(skillkit)
        if CONTAINER in cases:
            cases[DOCKER] = every(2, timed(naive(docker_run(ours.image, SCRIPT), SAYS), 1))
        found = measured(cases, rounds)
    print_against(NAIVE, found)
    if WARM in found:
        print(at_least("the sandbox's median, times as fast as naive's", better_by(found[WARM], found[NAIVE]), 3.5))
        print(at_most("the sandbox's p99, below naive's, ms", found[WARM].p99, found[NAIVE].p99))
    if CONTAINER in found:
        factor = better_by(found[CONTAINER], found[DOCKER])
        print(at_least("the container's median, times as fast as docker run's", factor, 40))


def pandas(ours: Ours, rounds: int) -> None:
    print("\nA script that imports pandas, in an environment built for it (ms)")
    request = ours.pandas()
    cases = {
        NAIVE: timed(naive(python(request.interpreter, PANDAS), PANDAS_SAYS), 1),
        WARM: timed(lambda: ours.check("warm", request, PANDAS_SAYS)),
    }
    found = measured(cases, rounds)
    print_against(NAIVE, found)
    print(at_least("the sandbox's median, times as fast as naive's", better_by(found[WARM], found[NAIVE]), 50))


def bash(ours: Ours, rounds: int) -> None:
    print(f"\nbash, echo {SAYS} (ms)")
    request = ours.bash()
    plain = [request.interpreter, ours.skill / SHELL_FILE]
    cases = {"naive subprocess.run(bash)": timed(naive(plain, SAYS))}
    cases["our sandbox, bash"] = timed(lambda: ours.check("warm", request, SAYS))
    if sandboxed := bubblewrap([request.interpreter, "-c", f"echo {SAYS}"]):
        cases["bwrap --unshare-all bash"] = timed(naive(sandboxed, SAYS))
    print_against("naive subprocess.run(bash)", measured(cases, rounds))


def cold_starts(ours: Ours, times: int) -> None:
    print("\nThe first run of a new warm interpreter, its start included (ms)")
    numbers = count(1)
    for title, request, says in (
        ("nothing preloaded", ours.request(), SAYS),
        ("pandas preloaded", ours.pandas(), PANDAS_SAYS),
    ):
        took = [_cold_ms(ours, anew(request, next(numbers)), says) for _ in range(times)]
        print(row(title, summary(took), "ms"))


def _cold_ms(ours: Ours, request: RunRequest, says: str) -> float:
    return elapsed_ms(lambda: ours.check("warm", request, says))


def timed(run: Run, in_a_row: int = IN_A_ROW) -> Case:
    return lambda: [elapsed_ms(run) for _ in range(in_a_row)]


def every(rounds: int, case: Case) -> Case:
    """It is slow: not in each round."""
    number = count()
    return lambda: () if next(number) % rounds else case()


def elapsed_ms(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return (time.perf_counter() - began) * 1000


def measured(cases: dict[str, Case], rounds: int) -> dict[str, Summary]:
    """After one round that does not count."""
    interleaved(cases, 1)
    return {name: summary(samples) for name, samples in interleaved(cases, rounds).items()}


def print_against(peer: str, found: dict[str, Summary], unit: str = "ms", *, more_is_better: bool = False) -> None:
    for name, one in found.items():
        factor = better_by(one, found[peer], more_is_better=more_is_better)
        print(row(name, one, unit, "" if name == peer else f"  x{factor:.2f}"))


def _own(ours: Ours, runtime: str) -> Run:
    request = ours.request()
    return lambda: ours.check(runtime, request, SAYS)


def _skillkit(ours: Ours, stack: ExitStack) -> Run | None:
    try:
        peer = Skillkit(ours.environments, ours.interpreter, ours.skill, "sum")
    except SkillkitMissingError as missing:
        print(f"  without seed 001's library: {missing}")
        return None
    stack.enter_context(peer)

    def run() -> None:
        assert peer.run() == SAYS, "seed 001's library went wrong"

    return run
