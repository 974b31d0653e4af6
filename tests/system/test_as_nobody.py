"""The conformance cases once more as an ordinary user: user namespaces, and no control groups."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import Require
from tests.system import nobody

CASES = "tests/conformance"
CHOSEN = "(warm or process) and not container and not endurance and not differential and not many_runs"
SAMPLE = "exits or signals or tracebacks"
PROBE = "from skillfleet_workers.runtimes.isolation import sandbox_trouble; print(sandbox_trouble())"
EVERY_TEST_PASSED_OR_HAS_A_REASON = 0


@pytest.fixture
def as_nobody(require: Require, state_dir: Path) -> Iterator[list[str]]:
    """How a command line of such a user begins."""
    require(sys.platform == "linux" and os.geteuid() == 0, "root, to become another user")
    begin = [sys.executable, "-m", nobody.__name__, str(state_dir), sys.executable]
    trouble = subprocess.run([*begin, "-c", PROBE], cwd=nobody.ROOT, capture_output=True, text=True, check=True)
    require(not trouble.stdout.strip(), f"sandboxes for an ordinary user: {trouble.stdout.strip()}")
    yield begin
    shutil.rmtree(state_dir)


def ended(begin: list[str], home: Path, folder: str, chosen: str) -> "subprocess.CompletedProcess[str]":
    options = ["-q", "-p", "no:cacheprovider", "--basetemp", str(home / "tmp"), "-k", chosen]
    return subprocess.run(
        [*begin, "-m", "pytest", *options, folder], cwd=nobody.ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.timeout(600)
def test_every_case_holds_for_an_ordinary_user_too(as_nobody: list[str], state_dir: Path) -> None:
    done = ended(as_nobody, state_dir, CASES, CHOSEN)
    assert done.returncode == EVERY_TEST_PASSED_OR_HAS_A_REASON, done.stdout[-20_000:]
    assert "test_secrecy" not in done.stdout or "holds no hostile code here" not in done.stdout


@pytest.mark.timeout(600)
def test_a_sample_of_scripts_does_what_it_does_under_plain_python(as_nobody: list[str], state_dir: Path) -> None:
    done = ended(as_nobody, state_dir, f"{CASES}/differential", f"(warm or process) and not container and ({SAMPLE})")
    assert done.returncode == EVERY_TEST_PASSED_OR_HAS_A_REASON, done.stdout[-20_000:]
