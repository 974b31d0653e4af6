"""What the warm runtime keeps, and when it starts anew."""

import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import Require
from tests.workers.warm_parts import environment_with, make

from skillfleet_workers.runtimes.base import Limits, RunRequest
from skillfleet_workers.runtimes.cgroups import Cgroups, find_cgroups
from skillfleet_workers.runtimes.isolation import sandbox_trouble, sandbox_user
from skillfleet_workers.runtimes.warm.pool import Pool
from skillfleet_workers.runtimes.warm.runtime import WarmRuntime


def test_what_scripts_import_is_loaded_before_they_run(warm_runtime: WarmRuntime, ask: RunRequest) -> None:
    script = "import sys; print('decimal' in sys.modules)"
    assert warm_runtime.run(replace(ask, script=script, preload=("decimal",))).stdout == "True\n"
    assert warm_runtime.run(replace(ask, script=script, limits=Limits(pids=99))).stdout == "False\n"


def test_what_cannot_be_imported_is_left_to_the_script(warm_runtime: WarmRuntime, ask: RunRequest) -> None:
    done = warm_runtime.run(replace(ask, script="import no_such_module", preload=("no_such_module", "json")))
    assert done.returncode == 1 and "No module named 'no_such_module'" in done.stderr


def test_an_import_that_starts_threads_is_not_done_ahead(
    warm_runtime: WarmRuntime, ask: RunRequest, tmp_path: Path
) -> None:
    busy = "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    interpreter = environment_with(tmp_path / "venv", "busy.py", busy)
    script = "import sys; print('busy' in sys.modules); import busy, threading; print(threading.active_count())"
    asked = replace(ask, interpreter=interpreter, script=script, preload=("busy",))
    for _ in range(2):
        assert warm_runtime.run(asked).stdout == "False\n2\n"


def test_one_interpreter_serves_runs_that_follow_each_other(warm_runtime: WarmRuntime, ask: RunRequest) -> None:
    for _ in range(3):
        assert warm_runtime.run(ask).success
    assert [one.runs for one in warm_runtime.pool.interpreters()] == [3]


def test_an_environment_that_was_built_anew_gets_an_interpreter_of_its_own(
    warm_runtime: WarmRuntime, ask: RunRequest, tmp_path: Path
) -> None:
    for word in ("first", "second"):
        venv = tmp_path / "venv"
        if venv.exists():
            venv.rename(tmp_path / "old")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
        (packages,) = venv.glob("lib/python*/site-packages")
        (packages / "word.py").write_text(f"word = {word!r}\n")
        asked = replace(
            ask, interpreter=venv / "bin" / "python", script="import word; print(word.word)", preload=("word",)
        )
        assert warm_runtime.run(asked).stdout == f"{word}\n"


@pytest.mark.parametrize("weighed_by", ["control groups", "what their processes share"])
def test_interpreters_that_wait_make_room_for_those_used_since(
    weighed_by: str, require: Require, ask: RunRequest
) -> None:
    require(not sandbox_trouble(), "a sandbox")
    grouped = weighed_by == "control groups"
    require(not grouped or isinstance(find_cgroups(), Cgroups), "control groups, to weigh interpreters")
    runtime = make(budget_mb=1) if grouped else WarmRuntime(None, sandbox_user(), 1)
    try:
        for pids in (97, 98, 99):
            assert runtime.run(replace(ask, limits=Limits(pids=pids))).success
        assert [one.recipe.limits.pids for one in runtime.pool.interpreters()] == [99]
    finally:
        runtime.close()


def test_an_interpreter_that_cannot_be_kept_warm_is_started_for_every_run(
    warm_runtime: WarmRuntime, ask: RunRequest, tmp_path: Path
) -> None:
    refuses = "import sys; sys.exit(3) if sys.orig_argv[1:2] == ['-m'] else None\n"
    done = warm_runtime.run(replace(ask, interpreter=environment_with(tmp_path / "venv", "refuses.pth", refuses)))
    assert (done.stdout, done.runtime, done.isolation) == ("1\n", "process", "sandbox")


@pytest.mark.skipif(sandbox_user() is None, reason="a user who is not root runs scripts as itself")
def test_a_skill_that_the_sandboxs_user_may_not_enter_is_refused_with_the_fix(
    warm_runtime: WarmRuntime, ask: RunRequest
) -> None:
    ask.skill_root.chmod(0o700)
    done = warm_runtime.run(ask)
    assert done.status == "failed" and "chmod -R o+rX" in (done.error or "")


def test_the_pool_of_a_closed_runtime_holds_nothing(warm_runtime: WarmRuntime, ask: RunRequest) -> None:
    assert warm_runtime.run(ask).success
    assert isinstance(warm_runtime.pool, Pool) and warm_runtime.pool.interpreters()
    warm_runtime.close()
    assert warm_runtime.pool.interpreters() == []


def test_no_script_finds_the_program_that_runs_it(warm_runtime: WarmRuntime, ask: RunRequest) -> None:
    script = "import sys\nprint('inside' in sys.modules)\ntry: import inside\nexcept ImportError: print('none')"
    for preload in ((), ("inside", "inside.script")):
        done = warm_runtime.run(replace(ask, script=script, preload=preload))
        assert (done.stdout, done.stderr) == ("False\nnone\n", "")


def test_an_import_that_ends_the_interpreter_is_left_to_the_script(
    warm_runtime: WarmRuntime, ask: RunRequest, tmp_path: Path
) -> None:
    interpreter = environment_with(tmp_path / "venv", "ends.py", "import os\nos._exit(4)\n")
    asked = replace(ask, interpreter=interpreter, preload=("ends",))
    done = warm_runtime.run(asked)
    assert (done.stdout, done.runtime) == ("1\n", "warm")
    assert warm_runtime.run(replace(asked, script="import ends")).returncode == 4


def test_a_call_that_nobody_wants_any_more_starts_nothing(warm_runtime: WarmRuntime, ask: RunRequest) -> None:
    cancelled = threading.Event()
    cancelled.set()
    assert warm_runtime.run(replace(ask, cancelled=cancelled)).status == "cancelled"
    assert warm_runtime.pool.interpreters() == []


def test_names_that_nobody_can_write_down_cost_no_result(
    warm_runtime: WarmRuntime, ask: RunRequest, tmp_path: Path
) -> None:
    script = """
import os
output = os.environb[b"SKILLFLEET_OUTPUT_DIR"]
os.makedirs(output + b"/\\xff")
open(output + b"/\\xff/a", "w").write("x")
os.chdir(output)
for _ in range(15):
    os.mkdir("d" * 250)
    os.chdir("d" * 250)
open("f" * 250, "w").write("x")
print("done")
"""
    done = warm_runtime.run(replace(ask, script=script, keep=tmp_path / "kept"))
    assert (done.status, done.stdout) == ("succeeded", "done\n")
    assert done.model_dump_json()
