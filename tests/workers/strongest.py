"""The strongest runtime that works on this machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conformance.table import warm

from skillfleet_workers.runtimes.base import Runtime
from skillfleet_workers.runtimes.isolation import probe
from skillfleet_workers.runtimes.process import ProcessRuntime


@contextmanager
def strongest(scratch: Path) -> Iterator[Runtime]:
    runtime: Runtime = ProcessRuntime(scratch) if probe().bubblewrap else warm(scratch)
    try:
        yield runtime
    finally:
        runtime.close()
