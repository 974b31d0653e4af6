"""`python -m bench.containers`: a script in a warm container, side by side with `docker run` of the same image."""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.runtime_image import runtime_image

from skillfleet_workers.runtimes.base import RunRequest
from skillfleet_workers.runtimes.container.runtime import ContainerRuntime

from .measure import compared, interleaved, row, summary

SCRIPT, SAID = "print(2+2)", "4\n"
PLAIN = ("docker", "run", "--rm", "--network", "none", "--read-only")


def timed(run: Callable[[], str], count: int) -> Callable[[], Sequence[float]]:
    def sample() -> float:
        began = time.perf_counter()
        said = run()
        took = (time.perf_counter() - began) * 1000
        assert said == SAID, said
        return took

    return lambda: [sample() for _ in range(count)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.containers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    image = runtime_image()
    with tempfile.TemporaryDirectory(prefix="skillfleet-bench-") as name:
        folder = Path(name)
        (folder / "skill").mkdir()
        runtime = ContainerRuntime(folder, image)
        request = RunRequest("bench", folder / "skill", Path(sys.executable), SCRIPT, {"LANG": "C.UTF-8"}, 30.0)
        command = [*PLAIN, image, "python3", "-c", SCRIPT]
        try:
            found = interleaved(
                {
                    "ours": timed(lambda: runtime.run(request).stdout, 20),
                    "peer": timed(lambda: subprocess.check_output(command, text=True), 2),
                },
                rounds,
            )
        finally:
            runtime.close()
    ours, peer = summary(found["ours"]), summary(found["peer"])
    print(row("warm container", ours, "ms"))
    print(row("docker run --rm", peer, "ms"))
    print(compared(ours, peer, more_is_better=False))


if __name__ == "__main__":
    main()
