"""The strongest runtime that works on this machine, and how code gets around what code mode refuses."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conformance.table import warm

from skillfleet_workers.runtimes.base import Runtime
from skillfleet_workers.runtimes.isolation import probe
from skillfleet_workers.runtimes.process import ProcessRuntime

BEHIND = "[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == '_wrap_close'][0].__init__.__globals__"
"""The way out of restricted builtins that every tutorial shows: os, by its globals."""


@contextmanager
def strongest(scratch: Path) -> Iterator[Runtime]:
    runtime: Runtime = ProcessRuntime(scratch) if probe().bubblewrap else warm(scratch)
    try:
        yield runtime
    finally:
        runtime.close()
