"""A script does under every runtime what it does under plain python: the same output, the same code."""

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest
from tests.conformance.differential.cases import (
    CASES,
    TIMEOUT_S,
    WHERE,
    Case,
    Form,
    Places,
    Seen,
    clean_environment,
    place_skill,
    plain,
)
from tests.conformance.table import applies

from skillfleet_workers.runtimes.base import RunRequest, Runtime

DEEPER = "it reaches the recursion limit two calls earlier: C calls lie below its first frame"

FORKED = {
    "stdlib/deep_structures": DEEPER,
    "tracebacks/recursion": DEEPER,
    "tracebacks/recursion_caught": DEEPER,
    "introspection/pending_exit_work": "a callback of the interpreter's own is registered with atexit",
}
KNOWN: dict[str, dict[str, str]] = {"warm": FORKED, "container": FORKED}
"""By runtime: the cases in which it differs, which its documentation must tell, and why it may."""

Ask = Callable[[Case, Form], RunRequest]
Reference = Callable[[Case, Form, str], Seen]


@pytest.fixture(scope="session")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    skill, clean = place_skill(tmp_path_factory.mktemp("differential") / "skill"), tmp_path_factory.mktemp("venv")
    # Of its own: what is installed beside the tests reaches into folders that no sandbox shows.
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", clean], check=True)
    clean.chmod(0o755)  # whoever is in a sandbox may read an environment
    interpreter = clean / "bin" / "python"
    environment = clean_environment(skill, interpreter)

    def request(case: Case, form: Form) -> RunRequest:
        script = case.path if form == "file" else (skill / case.path).read_bytes().decode()
        return RunRequest("differential", skill, interpreter, script, environment, TIMEOUT_S, case.argv, case.stdin)

    return request


@pytest.fixture(scope="session")
def reference(ask: Ask, tmp_path_factory: pytest.TempPathFactory) -> Reference:
    @cache
    def seen(case: Case, form: Form, source_name: str) -> Seen:
        return plain(ask(case, form), source_name, tmp_path_factory.mktemp("plain"))

    return seen


@dataclass(frozen=True)
class Surroundings:
    """Where a runtime has its files, and what it calls source that was given as text."""

    places: Places
    source_name: str


@pytest.fixture(scope="module")
def surroundings(runtime: Runtime, ask: Ask) -> Surroundings:
    request = replace(ask(CASES[0], "source"), script=WHERE, arguments=(), stdin=b"")
    told = [runtime.run(request).stdout.split() for _ in range(2)]
    return Surroundings(Places(*told), Path(told[0][0]).name)


@applies("same as plain python")
@pytest.mark.parametrize(
    ("case", "form"), [pytest.param(c, form, id=f"{c.name}-{form}") for c in CASES for form in c.forms]
)
def test_same_output_and_code(
    runtime: Runtime, ask: Ask, reference: Reference, surroundings: Surroundings, case: Case, form: Form
) -> None:
    with ThreadPoolExecutor(1) as beside:
        expected = beside.submit(reference, case, form, surroundings.source_name)
        done = runtime.run(ask(case, form))
    seen = surroundings.places.seen(done.stdout, done.stderr, done.returncode)
    if case.name in KNOWN.get(runtime.name, {}):
        assert seen != expected.result()
    else:
        assert seen == expected.result()


def test_no_declared_difference_is_of_an_unknown_script() -> None:
    assert {name for cases in KNOWN.values() for name in cases} <= {case.name for case in CASES}
