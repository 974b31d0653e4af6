"""What interpreters weigh where no control group counts it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import Require

from skillfleet_workers.runtimes.warm.weight import weight_below

SIZE = 40 << 20
FORKS = 3
HEAVY = f"""
import os, sys
if os.fork():
    os.wait()
    sys.exit()
kept = b"x" * {SIZE}
for _ in range({FORKS}):
    if not os.fork():
        sys.stdin.read()
        os._exit(0)
print("up", flush=True)
sys.stdin.read()
"""
ASKS = "import sys; from skillfleet_workers.runtimes.warm.weight import weight_below; print(weight_below(%d))"


@pytest.fixture
def heavy() -> Iterator[int]:
    """A process whose only child shares much with its forks."""
    command = [sys.executable, "-c", HEAVY]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "up\n"
        yield process.pid


def test_what_processes_share_is_counted_once(heavy: int) -> None:
    assert SIZE < weight_below(heavy) < 2 * SIZE


def test_of_those_that_may_not_be_looked_into_the_largest_counts(
    heavy: int, require: Require, tmp_path: Path
) -> None:
    require(os.geteuid() == 0, "root, to be somebody else")
    asks = [sys.executable, "-c", ASKS % heavy]
    command = [sys.executable, "-m", "tests.system.nobody", str(tmp_path), *asks]
    told = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    assert SIZE < int(told.stdout) < 2 * SIZE


def test_what_has_ended_weighs_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
        assert weight_below(process.pid) == 0
