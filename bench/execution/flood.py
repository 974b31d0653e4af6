"""What a worker's memory grows by while a script floods both of its streams, in a process of its own."""

import re
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from skillfleet_workers.wire.execution import OUTPUT_LIMIT_BYTES

from ..fleet import BenchError
from ..measure import at_most
from .ours import SAYS, Ours

FLOOD_MB = 200
"""On each stream."""

KEPT_MB = 2 * OUTPUT_LIMIT_BYTES >> 20
AIM_MB = 15
FLOOD = f"""
import os, threading
block = b"x" * (1 << 20)
def pour(stream):
    for _ in range({FLOOD_MB}):
        left = memoryview(block)
        while left:
            left = left[os.write(stream, left):]
threads = [threading.Thread(target=pour, args=(stream,)) for stream in (1, 2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def flood() -> None:
    print(f"\nA worker's memory while a script writes {FLOOD_MB} MB to each of both streams")
    child = subprocess.run([sys.executable, "-m", __name__], capture_output=True, text=True, timeout=120)
    if child.returncode:
        raise BenchError(f"the flood went wrong: {child.stderr}")
    before, peak = map(float, child.stdout.split())
    print(
        f"  resident before {before:.1f} MB, at most {peak:.1f} MB (VmHWM, reset before the run), kept {KEPT_MB} MB"
    )
    print(at_most("growth beyond what is kept, MB", peak - before - KEPT_MB, AIM_MB))


def _measured() -> tuple[float, float]:
    with tempfile.TemporaryDirectory(prefix="skillfleet-bench-") as folder, ExitStack() as stack:
        ours = Ours(Path(folder), stack)
        runtime = "warm" if "warm" in ours.runtimes else "process"
        ours.check(runtime, ours.request(), SAYS)
        Path("/proc/self/clear_refs").write_text("5")  # the peak is what is resident now
        before = _status_mb("VmRSS")
        done = ours.runtimes[runtime].run(ours.request(script=FLOOD))
        if done.stdout_bytes != FLOOD_MB << 20 or done.stderr_bytes != FLOOD_MB << 20:
            raise BenchError(f"a flood of another size: {done.stdout_bytes}, {done.stderr_bytes}")
        return before, _status_mb("VmHWM")


def _status_mb(name: str) -> float:
    found = re.search(rf"^{name}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found
    return int(found[1]) / 1024


if __name__ == "__main__":
    print(*_measured())
