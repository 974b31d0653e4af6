"""What a script writes is heard while it runs, whoever runs it."""

import threading

from tests.conformance.harness import Bench
from tests.conformance.table import applies

from skillfleet_workers.wire.execution import Output

ENDLESS = """
import sys, time
print("half way", flush=True)
print("a warning", file=sys.stderr, flush=True)
time.sleep(600)
"""


@applies("outcome")
def test_both_outputs_are_heard_before_the_script_ends(bench: Bench) -> None:
    heard, cancelled = list[Output](), threading.Event()

    def hear(output: Output) -> None:
        heard.append(output)
        if len(heard) == 2:
            cancelled.set()

    done = bench.run(ENDLESS, hear=hear, cancelled=cancelled)
    assert (done.status, done.stdout, done.stderr) == ("cancelled", "half way\n", "a warning\n")
    assert sorted(heard, key=lambda output: output.stream) == [
        Output("stderr", "a warning\n"),
        Output("stdout", "half way\n"),
    ]
