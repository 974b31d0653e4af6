"""A worker in a process of its own, which a test may kill or weigh.

`hold FOLDER SCRIPT` runs the script; `weigh FOLDER SCRIPT` prints by how many KB the run grew the peak memory.
"""

import resource
import sys
from pathlib import Path

from tests.conformance.harness import Bench

from skillfleet_workers.runtimes.process import ProcessRuntime


def peak_kb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main(verb: str, folder: str, mark: str, script: str) -> None:
    bench = Bench(ProcessRuntime(Path(folder)), Path(folder), mark)
    if verb == "weigh":
        bench.run("print(1)")
        before = peak_kb()
    done = bench.run(script)
    if verb == "weigh":
        sizes = (done.stdout_bytes, done.stderr_bytes, len(done.stdout), len(done.stderr))
        sys.stdout.write(" ".join(map(str, (done.status, *sizes, peak_kb() - before))))
    bench.runtime.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
