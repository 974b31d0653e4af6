"""Runs whose sandbox is killed under them, while their worker lives."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field

import psutil
import pytest
from tests.conformance.living import gone, holders
from tests.system.conftest import Shared
from tests.system.fleet import wait_for
from tests.system.replies import Call, Held, call

from skillfleet.conversations.lost_calls import MAX_STARTS
from skillfleet.conversations.runs import ToolRun
from skillfleet.fleet import Fleet

SKILL = """---
name: {effects}
description: For tests.
metadata: {{skillfleet: {{network: none, effects: {effects}}}}}
---
"""


@pytest.fixture
def fleet(shared: Shared) -> Iterator[Fleet]:
    """With a skill of either kind, named after its effects."""
    names = ("idempotent", "unsafe")
    for name in names:
        shared.place.add_skill(name, {"SKILL.md": SKILL.format(effects=name)})
    with shared.place.fleet() as fleet:
        yield fleet
    for name in names:
        shutil.rmtree(shared.place.skills / name)


@dataclass
class Struck:
    """A script that is held, and its sandbox's init that is killed."""

    held: Held = field(default_factory=Held)
    script: psutil.Process | None = None

    def call(self, effects: str) -> Call:
        return call("run_python_script", "a", skill_name=effects, script=self.held.script, timeout=900)

    def run_anew(self) -> None:
        """Wait for a run that is not the one before."""
        wait_for(lambda: [pid for pid in self.held.pids() if not self.script or pid != self.script.pid], "it runs")
        self.script = self.held.process()

    def kill_its_init(self, fleet: Fleet) -> None:
        assert self.script
        workers = {one.pid for one in fleet.running() if one.role == "worker"}
        (worker,) = workers & {above.pid for above in self.script.parents()}
        init = holders(self.script.pid, worker)[0]
        assert init.is_running() and self.script.is_running()
        init.kill()
        wait_for(lambda: self.script and gone([init, self.script]), "its init is dead, and the script with it")
        assert psutil.pid_exists(worker)


def only_run(fleet: Fleet, name: str) -> ToolRun:
    (run,) = fleet.transcript(name).runs
    return run


def told_of(fleet: Fleet, name: str) -> list[str]:
    return [entry.type for entry in fleet.follow(name) if entry and not entry.live and entry.data.get("key") == "1.0"]


def test_a_run_whose_sandbox_is_killed_is_made_again_and_the_model_sees_only_the_second(
    shared: Shared, fleet: Fleet
) -> None:
    struck = Struck()
    name = fleet.submit("Wait.", model=shared.place.script([struck.call("idempotent")], "${a.stdout}"))
    struck.run_anew()
    struck.kill_its_init(fleet)
    struck.run_anew()
    struck.held.let_go()
    assert fleet.result(name).answer == "holding\nlet go"
    run = only_run(fleet, name)
    assert (run.status, run.ref.attempt, run.losses) == ("succeeded", 2, 1)
    assert told_of(fleet, name) == ["call", "started", "lost", "call", "started", "result"]


def test_of_an_unsafe_run_whose_sandbox_is_killed_the_model_is_told_what_is_known(
    shared: Shared, fleet: Fleet
) -> None:
    struck = Struck()
    name = fleet.submit("Wait.", model=shared.place.script([struck.call("unsafe")], "${a.error}: ${a.message}"))
    struck.run_anew()
    struck.kill_its_init(fleet)
    answer = fleet.result(name).answer or ""
    assert answer.startswith("worker_lost: ") and "killed" in answer and answer.endswith("holding")
    run = only_run(fleet, name)
    assert (run.status, run.ref.attempt, run.losses) == ("lost", 1, 1)
    assert told_of(fleet, name) == ["call", "started", "lost", "result"]


def test_a_run_whose_sandbox_is_killed_at_every_start_is_given_up_and_shown_with_the_reason(
    shared: Shared, fleet: Fleet
) -> None:
    struck = Struck()
    name = fleet.submit("Wait.", model=shared.place.script([struck.call("idempotent")], "${a.error}: ${a.message}"))
    for _ in range(MAX_STARTS):
        struck.run_anew()
        struck.kill_its_init(fleet)
    answer = fleet.result(name).answer or ""
    assert answer.startswith("poison_call: ") and answer.endswith("holding")
    dead = fleet.dead_call(f"{name}.1.0")
    assert (dead.reason, dead.losses) == ("poison", MAX_STARTS)
    assert dead.said and answer.endswith(dead.said)
    shown = shared.place.cli("dead", "show", dead.id)
    assert dead.said.splitlines()[0] in shown.stdout
    assert json.loads(shared.place.cli("dead", "show", dead.id, "--json").stdout)["said"] == dead.said
