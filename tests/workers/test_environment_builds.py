"""Builders that race, hang and die."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.workers.environment_checks import (
    built,
    error_of,
    leftovers,
    lives,
    output,
    wait_until,
    waits_for_a_lock,
)
from tests.workers.slow_skill import SlowSkill, builder_process

from skillfleet_workers.environments.build import Environments


def test_callers_in_threads_and_processes_build_once(tmp_path: Path) -> None:
    slow, folder = SlowSkill(tmp_path), tmp_path / "environments"
    environments = Environments(folder)
    with ThreadPoolExecutor(4) as threads:
        calls = [threads.submit(environments.interpreter_for, slow.skill, None) for _ in range(4)]
        processes = [builder_process(folder, slow.skill) for _ in range(2)]
        wait_until(lambda: slow.builders)
        wait_until(lambda: all(waits_for_a_lock(process.pid, folder) for process in processes))
        slow.go.touch()
        interpreters = {str(built(call.result(60))) for call in calls}
    interpreters |= {process.communicate(timeout=60)[0].strip() for process in processes}
    assert len(interpreters) == 1
    assert len(slow.builders) == 1
    assert output(Path(interpreters.pop()), "import demo; print(demo.ANSWER)") == "42"
    assert not leftovers(folder)


def test_after_a_builder_is_killed_the_next_one_builds(tmp_path: Path) -> None:
    slow, folder = SlowSkill(tmp_path), tmp_path / "environments"
    victim = builder_process(folder, slow.skill)
    wait_until(lambda: slow.builders)
    assert victim.poll() is None
    victim.kill()
    victim.wait()
    assert leftovers(folder)
    assert not list(folder.glob("*/bin/python"))
    slow.go.touch()
    interpreter = Environments(folder).interpreter_for(slow.skill, None)
    assert output(interpreter, "import demo; print(demo.ANSWER)") == "42"
    assert len(slow.builders) == 2
    assert not leftovers(folder)
    wait_until(lambda: not lives(slow.builders[0]))


def test_a_build_that_takes_too_long_is_dead_and_leaves_nothing(tmp_path: Path) -> None:
    slow, folder = SlowSkill(tmp_path), tmp_path / "environments"
    environments = Environments(folder, build_timeout_s=10)
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(environments.interpreter_for, slow.skill, None)
        wait_until(lambda: slow.builders)
        assert lives(slow.builders[0])
        failed = error_of(call.result(60))
    assert failed.error == "environment_build_failed"
    assert "longer than 10 s" in failed.message
    wait_until(lambda: not lives(slow.builders[0]))
    assert not leftovers(folder)
    assert not list(folder.glob("*/bin/python"))
