"""Environments that are built in the middle of a conversation: seen, ended, and survived."""

import os
import signal
from pathlib import Path

from tests.system.fleet import Place, wait_for
from tests.system.replies import call
from tests.system.test_up import up
from tests.workers.environment_checks import leftovers, lives, working_on
from tests.workers.slow_skill import SlowSkill

SLOW = "---\nname: slow\ndescription: Is built for long.\n---\n"
ANSWER = call("run_python_script", "said", skill_name="slow", script="import demo; print(demo.ANSWER)", timeout=20)


def slow_skill(place: Place) -> SlowSkill:
    skill = SlowSkill(place.folder, "skills/slow")
    (skill.skill.root / "SKILL.md").write_text(SLOW)
    return skill


def environments(place: Place) -> Path:
    return place.state_dir / "environments"


def test_who_follows_sees_the_build_before_the_script_runs(place: Place) -> None:
    slow = slow_skill(place)
    submit = place.start("submit", "--follow", "--model", place.script([ANSWER], "It is ${said.stdout}"), "Go.")
    wait_for(lambda: "Building demo" in place.log("submit") or submit.poll() is not None, "the build is shown")
    assert submit.poll() is None, place.log("submit")
    slow.go.touch()
    answer, _ = submit.communicate(timeout=60)
    assert (submit.returncode, answer) == (0, "It is 42\n")
    lines = place.log("submit").splitlines()
    told = [line.strip() for line in lines if line.strip().startswith("·")]
    assert told[0] == "· building the environment of 'slow' (requirements.txt)"
    assert told[-1].startswith("· the environment is ready")


def test_the_conversations_own_deadline_ends_a_build(place: Place) -> None:
    slow = slow_skill(place)
    with up(place, workers=1) as fleet:
        name = fleet.submit("Go.", model=place.script([ANSWER], "Never said."), timeout=10)
        (builder,) = wait_for(lambda: slow.builders, "the build began")
        assert lives(builder)
        assert fleet.result(name).status == "expired"
        wait_for(lambda: not working_on(environments(place)), "nothing works on it")
        assert not lives(builder)
    assert not leftovers(environments(place))
    assert not list(environments(place).glob("*/bin/python"))


def test_after_a_worker_was_killed_in_the_middle_the_next_one_builds_it_whole(place: Place) -> None:
    slow, folder = slow_skill(place), environments(place)
    model = place.script([ANSWER], [{**ANSWER, "as": "again"}], "It is ${again.stdout}")
    with up(place, workers=1) as fleet:
        (victim,) = fleet.running("worker")
        name = fleet.submit("Go.", model=model)
        (builder,) = wait_for(lambda: slow.builders, "the build began")
        assert lives(victim.pid)
        assert lives(builder)
        os.kill(victim.pid, signal.SIGKILL)
        wait_for(lambda: not lives(builder), "the build ends with its worker")
        assert leftovers(folder)
        assert not list(folder.glob("*/bin/python"))
        slow.go.touch()
        assert fleet.result(name).answer == "It is 42"
    assert len(slow.builders) == 2
    assert not leftovers(folder)
