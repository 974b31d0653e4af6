"""How long a run waits for an interpreter, and what becomes of one that came too late or not at all."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conformance.harness import eventually
from tests.conftest import Require
from tests.workers.warm_parts import TOLD_TO_GO, environment_with, living, make, packages_of

from skillfleet_workers.runtimes.base import RunRequest
from skillfleet_workers.runtimes.isolation import sandbox_trouble
from skillfleet_workers.runtimes.warm.leased_run import run_leased
from skillfleet_workers.runtimes.warm.recipe import recipe_for
from skillfleet_workers.runtimes.warm.runtime import WarmRuntime

IS_LOADED = "import sys; print('slow' in sys.modules)"


@pytest.fixture
def ask(ask: RunRequest, tmp_path: Path) -> RunRequest:
    """It preloads a module that hangs until it is told to go on."""
    interpreter = environment_with(tmp_path / "venv", "slow.py", TOLD_TO_GO)
    return replace(ask, interpreter=interpreter, script=IS_LOADED, preload=("slow",))


def go_on(ask: RunRequest) -> None:
    (packages_of(ask.interpreter) / "go").touch()


def test_a_run_that_is_cancelled_while_its_interpreter_starts_leaves_it_to_the_next(
    warm_runtime: WarmRuntime, ask: RunRequest
) -> None:
    cancelled = threading.Event()
    with ThreadPoolExecutor(2) as beside:
        flight = beside.submit(warm_runtime.run, replace(ask, cancelled=cancelled))
        assert eventually(lambda: living(ask.interpreter)) and not flight.done()
        cancelled.set()
        done = flight.result()
        assert (done.status, done.returncode, done.error) == ("cancelled", None, "cancelled")
        assert living(ask.interpreter) and warm_runtime.pool.interpreters() == []
        following = beside.submit(warm_runtime.run, ask)
        go_on(ask)
        assert following.result().stdout == "True\n"
    assert [one.runs for one in warm_runtime.pool.interpreters()] == [1]


def test_an_interpreter_that_comes_up_after_its_run_was_cancelled_waits_for_the_next(
    warm_runtime: WarmRuntime, ask: RunRequest
) -> None:
    cancelled = threading.Event()
    with ThreadPoolExecutor(1) as beside:
        flight = beside.submit(warm_runtime.run, replace(ask, cancelled=cancelled))
        assert eventually(lambda: living(ask.interpreter)) and not flight.done()
        cancelled.set()
        assert flight.result().status == "cancelled"
    go_on(ask)
    assert eventually(lambda: bool(warm_runtime.pool.interpreters()))
    assert warm_runtime.run(ask).stdout == "True\n"


def test_a_run_whose_interpreter_does_not_come_up_in_time_has_timed_out(
    warm_runtime: WarmRuntime, ask: RunRequest
) -> None:
    done = run_leased(ask, recipe_for(ask), warm_runtime.pool, {}, give_up=time.monotonic() + 0.1)
    assert (done.status, done.timed_out, done.returncode) == ("timed_out", True, 124)
    assert "Timeout" in done.stderr and "no interpreter" in (done.error or "")
    assert eventually(lambda: living(ask.interpreter))


def test_an_import_that_once_took_too_long_holds_no_later_run(warm_runtime: WarmRuntime, ask: RunRequest) -> None:
    run_leased(ask, recipe_for(ask), warm_runtime.pool, {}, give_up=time.monotonic() + 0.1)
    assert warm_runtime.run(ask).stdout == "False\n"
    go_on(ask)
    assert eventually(lambda: ("slow",) in [one.recipe.imports for one in warm_runtime.pool.interpreters()])
    assert warm_runtime.run(ask).stdout == "True\n"


def test_the_start_of_an_interpreter_takes_nothing_of_the_timeout(warm_runtime: WarmRuntime, ask: RunRequest) -> None:
    (packages_of(ask.interpreter) / "slow.py").write_text("import time; time.sleep(3)")
    assert warm_runtime.run(replace(ask, timeout_s=2)).stdout == "True\n"


def test_closing_ends_a_start_that_hangs(
    warm_runtime: WarmRuntime, ask: RunRequest, caplog: pytest.LogCaptureFixture
) -> None:
    run_leased(ask, recipe_for(ask), warm_runtime.pool, {}, give_up=time.monotonic() + 0.1)
    assert eventually(lambda: living(ask.interpreter))
    warm_runtime.close()
    assert eventually(lambda: not living(ask.interpreter)) and "Traceback" not in caplog.text


def test_a_preload_that_broke_a_start_is_tried_again_after_a_while(
    require: Require, ask: RunRequest, caplog: pytest.LogCaptureFixture
) -> None:
    require(not sandbox_trouble(), "a sandbox")
    ends = "import os\nif not os.path.exists(os.path.join(os.path.dirname(__file__), 'go')): os._exit(4)\n"
    (packages_of(ask.interpreter) / "slow.py").write_text(ends)
    runtime = make(again_s=0.3)
    try:
        assert runtime.run(ask).stdout == "False\n"
        assert "importing slow ahead is left to the scripts for 0.3 s" in caplog.text
        go_on(ask)
        assert eventually(lambda: runtime.run(ask).stdout == "True\n")
    finally:
        runtime.close()
