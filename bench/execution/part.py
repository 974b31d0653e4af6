"""All of it, in one run."""

import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from .deadlines import deadlines
from .flood import flood
from .latency import bash, cold_starts, pandas, trivial
from .ours import Ours
from .throughput import throughput


@dataclass(frozen=True, slots=True)
class Size:
    """`trivial`: rounds of ten runs; the others in rounds or runs of their own."""

    trivial: int
    pandas: int
    bash: int
    throughput: int
    deadlines: int
    cold: int


FULL = Size(trivial=40, pandas=20, bash=20, throughput=7, deadlines=100, cold=9)
QUICK = Size(trivial=20, pandas=4, bash=10, throughput=2, deadlines=20, cold=3)


def execution(*, quick: bool) -> None:
    size = QUICK if quick else FULL
    with tempfile.TemporaryDirectory(prefix="skillfleet-bench-") as folder, ExitStack() as stack:
        ours = Ours(Path(folder), stack)
        trivial(ours, size.trivial)
        if "warm" in ours.runtimes:
            pandas(ours, size.pandas)
            throughput(ours, size.throughput)
            bash(ours, size.bash)
            cold_starts(ours, size.cold)
        deadlines(ours, size.deadlines)
        flood()
