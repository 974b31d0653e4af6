"""A worker in a process of its own, which a test may kill or weigh, or whose environment holds a secret.

`hold` runs the script; `weigh` prints by how many KB the run grew the peak memory; `tell` prints the script's output.
"""

import resource
import sys
from pathlib import Path

from tests.conformance.harness import Bench
from tests.conformance.table import RUNTIMES


def peak_kb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main(verb: str, runtime: str, folder: str, mark: str, script: str) -> None:
    bench = Bench(runtime, RUNTIMES[runtime](Path(folder)), Path(folder), mark)
    if verb == "weigh":
        bench.run("print(1)")
        before = peak_kb()
    done = bench.run(script)
    if verb == "weigh":
        sizes = (done.stdout_bytes, done.stderr_bytes, len(done.stdout), len(done.stderr))
        sys.stdout.write(" ".join(map(str, (done.status, *sizes, peak_kb() - before))))
    if verb == "tell":
        sys.stdout.write(done.stdout + done.stderr)
    bench.runtime.close()


def command(verb: str, bench: Bench, script: str) -> list[str]:
    """What starts such a worker, with a runtime like the bench's; to be run in the repository's root."""
    return [sys.executable, "-m", __name__, verb, bench.name, str(bench.folder), bench.mark, script]


if __name__ == "__main__":
    main(*sys.argv[1:])
