"""Seed 001's SkillManager: scripts from Python on a machine that has nothing else."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.workers.skill_folders import write_skill

import skillfleet_workers
from skillfleet_workers.execution_api import EnvironmentUnavailableError, SkillManager
from skillfleet_workers.script_result import NOT_RUN, ScriptExecutionResult, validate_execution_result
from skillfleet_workers.wire.execution import ScriptExecution

SCRIPTS = {
    "SKILL.md": "---\nname: lab\ndescription: Lab.\nmetadata:\n  skillfleet:\n    protocol: {says: ndjson}\n---\n",
    "scripts/add.py": "# Add.\nimport json, sys\na = json.load(sys.stdin)\nprint(a['x'] + a['y'])",
    "scripts/fails.py": "import sys; print('Timeout', file=sys.stderr); sys.exit(124)",
    "scripts/dies.py": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
    "scripts/sleeps.sh": "echo begun; sleep 600",
    "scripts/says.py": "print('no event')",
    "scripts/draws.sh": 'echo 1 > "$SKILLFLEET_OUTPUT_DIR/$1"',
}


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SkillManager]:
    folder = tmp_path_factory.mktemp("api")
    write_skill(folder / "skills" / "lab", SCRIPTS)
    write_skill(folder / "skills" / "wants", {"requirements.txt": "./none-1.0.whl", "a.py": ""})
    with SkillManager(folder / "skills", state_dir=folder / "state") as manager:
        manager.discover()
        yield manager


def test_it_is_what_the_package_exports() -> None:
    assert skillfleet_workers.SkillManager is SkillManager
    with pytest.raises(AttributeError):
        _ = skillfleet_workers.NoSuchName  # type: ignore[attr-defined]


def test_who_imports_the_wire_does_not_load_what_runs_scripts() -> None:
    code = "import sys, skillfleet_workers.wire.contract; print('skillfleet_workers.tools' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"False\n"


def test_skills_and_their_scripts_are_listed(manager: SkillManager) -> None:
    assert [skill.name for skill in manager.list_skills()] == ["lab", "wants"]
    assert [script.name for script in manager.scripts("lab")] == ["add", "dies", "draws", "fails", "says", "sleeps"]


def test_a_script_is_run_with_its_arguments(manager: SkillManager) -> None:
    done = manager.execute_skill_script("lab", "add", {"x": 40, "y": 2})
    assert (done.stdout, done.exit_code, done.success, done.timeout, done.signaled) == ("42\n", 0, True, False, False)
    assert done.script_path.is_absolute() and done.script_path.name == "add.py"
    assert done.execution_time_ms > 0
    validate_execution_result(done)


def test_how_a_script_fails_is_in_the_result(manager: SkillManager) -> None:
    failed = manager.execute_skill_script("lab", "fails", {})
    assert (failed.exit_code, failed.success, failed.timeout) == (124, False, False)
    died = manager.execute_skill_script("lab", "dies", {})
    assert (died.exit_code, died.signal, died.signal_number) == (-11, "SIGSEGV", 11)
    assert died.signaled and "Signal: SIGSEGV" in died.stderr
    late = manager.execute_skill_script("lab", "sleeps", {}, timeout=1)
    assert (late.exit_code, late.timeout, late.stdout) == (124, True, "begun\n") and "Timeout" in late.stderr
    broken = manager.execute_skill_script("lab", "says", {})
    assert (broken.exit_code, broken.success) == (0, False) and "not JSON" in str(broken.error)
    unfit = manager.execute_skill_script("lab", "draws", args=["a\0b"])
    assert (unfit.exit_code, unfit.success) == (NOT_RUN, False) and "NUL" in str(unfit.error)
    for result in (failed, died, late, broken, unfit):
        validate_execution_result(result)


def test_the_timeout_is_the_calls_else_the_default(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills" / "lab", SCRIPTS)
    with SkillManager(str(tmp_path / "skills"), state_dir=tmp_path / "state", default_script_timeout=0.5) as manager:
        assert manager.execute_skill_script("lab", "sleeps").timeout
        with pytest.raises(ValueError, match="more than 0"):
            manager.execute_skill_script("lab", "sleeps", timeout=0)


def test_files_that_a_script_hands_back_are_kept(manager: SkillManager) -> None:
    (file,) = manager.execute_skill_script("lab", "draws", args=["chart.png"]).artifacts
    assert file.name == "chart.png" and file.read_text() == "1\n"


def test_an_environment_that_cannot_be_built_is_said_so(manager: SkillManager) -> None:
    with pytest.raises(EnvironmentUnavailableError, match=r"none-1\.0\.whl"):
        manager.execute_skill_script("wants", "a")


def test_nothing_of_it_is_left_once_it_is_closed(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills" / "lab", SCRIPTS)
    manager = SkillManager(tmp_path / "skills", state_dir=tmp_path / "state")
    assert manager.execute_skill_script("lab", "add", {"x": 1, "y": 1}).success
    assert list((tmp_path / "state" / "work").iterdir())
    manager.close()
    assert not list((tmp_path / "state" / "work").iterdir())


GOOD = ScriptExecutionResult("", "", -9, 1.0, Path("/s/a.py"), "SIGKILL", 9, False, False)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (replace(GOOD, exit_code=9), "exit_code is positive"),
        (replace(GOOD, signal_number=11), "Signal number mismatch"),
        (replace(GOOD, signal=None, timed_out=True, exit_code=0), "exit_code != 124"),
    ],
)
def test_a_result_that_contradicts_itself_is_refused(wrong: ScriptExecutionResult, why: str) -> None:
    validate_execution_result(GOOD)
    with pytest.raises(ValueError, match=why):
        validate_execution_result(wrong)


def test_an_out_of_memory_kill_is_no_success_although_it_ended_with_0() -> None:
    result = ScriptExecutionResult.of(ScriptExecution(status="oom_killed", returncode=0))
    assert (result.exit_code, result.success, result.error) == (0, False, "oom_killed")
