"""Builds that nobody waits for any more: cancelled, or of a worker that is gone."""

import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
from tests.workers.archives import source_archive, wheel
from tests.workers.environment_checks import (
    built,
    error_of,
    leftovers,
    lives,
    output,
    wait_until,
    waits_for_a_lock,
    working_on,
)
from tests.workers.skill_folders import write_skill
from tests.workers.slow_skill import SlowSkill, builder_process

from skillfleet_workers.environments.build import Environments
from skillfleet_workers.runtimes.process import ProcessRuntime
from skillfleet_workers.skills.catalog import SkillCatalog
from skillfleet_workers.skills.models import Skill
from skillfleet_workers.tools import CallContext, Toolbox
from skillfleet_workers.wire.contract import CallRef, RunPythonScript, ToolError
from skillfleet_workers.wire.execution import ScriptExecution

SKILL_MD = "---\nname: calc\ndescription: Adds.\n---\n"
LINGERING_BACKEND = """
import os, shutil, subprocess
def build_wheel(directory, config_settings=None, metadata_directory=None):
    child = subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open({log!r}, "w") as log:
        log.write(str(child.pid))
    shutil.copy({wheel!r}, directory)
    return os.path.basename({wheel!r})
"""
CALL = CallRef(conversation_id="c1", turn=1, index=0)


@pytest.fixture
def hanging_index(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A package index that takes every question and answers none."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://127.0.0.1:{server.getsockname()[1]}/simple")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield server


@pytest.fixture
def skill(tmp_path: Path) -> Skill:
    return write_skill(tmp_path / "skills" / "calc", {"SKILL.md": SKILL_MD, "requirements.txt": "six"})


@pytest.fixture
def toolbox(tmp_path: Path, skill: Skill) -> Iterator[Toolbox]:
    work = tmp_path / "work"
    work.mkdir()
    runtime = ProcessRuntime(work)
    yield Toolbox(
        catalog=SkillCatalog(skill.root.parent),
        environments=Environments(tmp_path / "environments", build_timeout_s=20),
        runtime=runtime,
        script_timeout_s=30,
        artifacts_folder=tmp_path / "artifacts",
    )
    runtime.close()


def test_a_cancelled_call_ends_the_build_it_waits_for(
    toolbox: Toolbox, hanging_index: socket.socket, tmp_path: Path
) -> None:
    folder, cancelled = tmp_path / "environments", Event()
    request = RunPythonScript(skill_name="calc", script="print(1)")
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(toolbox.run_python, request, CallContext(CALL, None, cancelled))
        question, _ = hanging_index.accept()
        with question:
            assert working_on(folder)
            cancelled.set()
            failed = call.result(30)
    assert isinstance(failed, ToolError)
    assert failed.error == "cancelled"
    wait_until(lambda: not working_on(folder))
    assert not leftovers(folder)
    assert not list(folder.glob("*/bin/python"))


def test_a_cancelled_build_is_not_remembered_as_failed(
    skill: Skill, hanging_index: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environments, cancelled = Environments(tmp_path / "environments", build_timeout_s=20), Event()
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(environments.interpreter_for, skill, None, cancelled)
        with hanging_index.accept()[0]:
            cancelled.set()
            assert error_of(call.result(30)).error == "cancelled"
    monkeypatch.delenv("UV_DEFAULT_INDEX")
    assert output(built(environments.interpreter_for(skill, None)), "import six; print(six.__name__)") == "six"


def test_a_call_that_waits_for_anothers_build_can_be_cancelled(
    skill: Skill, hanging_index: socket.socket, tmp_path: Path
) -> None:
    folder = tmp_path / "environments"
    environments, cancelled = Environments(folder, build_timeout_s=20), Event()
    with builder_process(folder, skill) as builder, ThreadPoolExecutor(1) as threads, hanging_index.accept()[0]:
        try:
            call = threads.submit(environments.interpreter_for, skill, None, cancelled)
            wait_until(lambda: waits_for_a_lock(os.getpid(), folder))
            assert not call.done()
            cancelled.set()
            assert error_of(call.result(60)).error == "cancelled"
            assert builder.poll() is None
            assert working_on(folder)
        finally:
            builder.kill()


def test_a_build_ends_with_the_worker_that_was_killed(
    skill: Skill, hanging_index: socket.socket, tmp_path: Path
) -> None:
    folder = tmp_path / "environments"
    with builder_process(folder, skill) as worker, hanging_index.accept()[0]:
        assert worker.poll() is None
        assert working_on(folder)
        worker.kill()
        worker.wait()
        wait_until(lambda: not working_on(folder))


def test_a_run_has_all_its_time_however_long_its_build_took(tmp_path: Path, toolbox: Toolbox) -> None:
    slow = SlowSkill(tmp_path, "skills/slow")
    (slow.skill.root / "SKILL.md").write_text(SKILL_MD.replace("calc", "slow"))
    script = "import demo, time; time.sleep(3); print(demo.ANSWER)"
    request = RunPythonScript(skill_name="slow", script=script, timeout=6)
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(toolbox.run_python, request, CallContext(CALL, None, Event()))
        wait_until(lambda: slow.builders)
        half_built = time.monotonic()
        wait_until(lambda: time.monotonic() > half_built + 4 or call.done())
        assert not call.done(), call.result()
        slow.go.touch()
        run = call.result(60)
    assert isinstance(run, ScriptExecution), run
    assert (run.status, run.stdout) == ("succeeded", "42\n")


def test_what_a_build_started_and_left_running_ends_with_it(tmp_path: Path) -> None:
    made, log, archive = tmp_path / "demo-1.0-py3-none-any.whl", tmp_path / "log", "demo-1.0.tar.gz"
    made.write_bytes(wheel("demo", {"demo.py": "x = 1"}))
    code = source_archive("demo", LINGERING_BACKEND.format(log=str(log), wheel=str(made)))
    skill = write_skill(tmp_path / "calc", {"requirements.txt": archive, archive: code})
    built(Environments(tmp_path / "environments").interpreter_for(skill, None))
    wait_until(lambda: not lives(int(log.read_text())))
