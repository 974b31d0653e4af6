"""A skill with `context: fork`, from the command line: a conversation of its own carries it out."""

import signal
from typing import Any

import pytest
from tests.conftest import Require
from tests.system.fleet import Place, interrupt, running_fleet, wait_for
from tests.system.replies import Held, Turn, call, holding, python
from tests.system.servers import RedisServer

from skillfleet_workers import tasks

RESEARCH = """---
name: research
description: Finds out what is known. Use it whenever a question needs more than one look.
context: fork
---
Look, then say what you found about $ARGUMENTS.
"""
ACTIVATION = call("skill", "found", name="research", arguments="bees")


@pytest.fixture(autouse=True)
def research(place: Place, require: Require) -> None:
    require(hasattr(tasks, "ACTIVATE"), "a worker that activates skills")
    place.add_skill("research", {"SKILL.md": RESEARCH})


def reports(place: Place) -> dict[str, dict[str, Any]]:
    """All conversations, by whose they are: ours by the empty name."""
    with place.fleet() as fleet:
        return {one.parent_id or "": one.as_json() for one in fleet.list()}


def test_the_parent_answers_with_what_its_child_found(place: Place) -> None:
    found: list[Turn] = [[python("print('dance')", "seen")], "${seen.stdout}"]
    model = place.script([ACTIVATION], "They say: ${found}", children={"research": found})
    done = place.cli("submit", "--follow", "--model", model, "What do bees do?")
    assert (done.returncode, done.stdout) == (0, "They say: dance\n"), done.stderr
    told = reports(place)
    parent = told.pop("")
    child = told[parent["id"]]
    assert child["id"] == f"{parent['id']}-1-0" and child["answer"] == "dance"
    assert f"research {child['id']} is completed" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_submit_ends_the_child_and_its_script(place: Place, number: signal.Signals) -> None:
    held = Held()
    model = place.script([ACTIVATION], "Never said.", children={"research": [[holding(held)], "Never said."]})
    submit = place.start("submit", "--model", model, "Wait.")
    wait_for(held.runs, "the child's script runs")
    assert interrupt(submit, number) == 130
    assert not held.runs()
    assert {one["status"] for one in reports(place).values()} == {"cancelled"}


def test_a_child_outlives_the_death_of_its_orchestrator(place: Place) -> None:
    held = Held()
    with RedisServer(place.folder / "redis") as redis:
        fleet = Place(place.folder, {"SKILLFLEET_REDIS_URL": redis.url})
        replies: list[Turn] = [[holding(held, "seen")], "${seen.stdout}"]
        model = fleet.script([ACTIVATION], "They say: ${found}", children={"research": replies})
        with running_fleet(fleet) as (orchestrator, *_):
            submitted = fleet.cli("submit", "--detach", "--model", model, "What do bees do?")
            wait_for(held.runs, "the child's script runs")
            orchestrator.kill()
            orchestrator.wait()
            held.let_go()
            again = fleet.start("orchestrator")
            done = fleet.cli("result", submitted.stdout.strip())
            assert "let go" in done.stdout, done.stderr
            again.send_signal(signal.SIGTERM)
            again.wait()
