"""Subagents from the command line, on a real fleet: listed, shown, paused, resumed, cancelled."""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from tests.system.fleet import Place, wait_for
from tests.system.replies import Held, call, holding
from tests.system.standing_fleet import StandingFleet, standing_fleet
from tests.system.test_forked_skills import RESEARCH

from skillfleet.subagents.models import AgentState


@pytest.fixture(scope="module")
def fleet() -> Iterator[StandingFleet]:
    with TemporaryDirectory(prefix="sf-", dir="/tmp") as folder, standing_fleet(Path(folder)) as started:
        started.place.add_skill("research", {"SKILL.md": RESEARCH})
        started.orchestrator()
        started.worker(concurrency=2)
        yield started


def told(place: Place, *arguments: str) -> Any:
    done = place.cli("agent", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def researching(place: Place, held: Held) -> tuple[str, str]:
    """A conversation and its child, whose script runs."""
    activation = call("skill", "found", name="research", arguments="bees")
    model = place.script([activation], "They say: ${found}", children={"research": [[holding(held)], "They dance."]})
    with place.fleet() as api:
        name = api.submit("What do bees do?", model=model)
    wait_for(held.runs, "the child's script runs")
    return name, f"{name}-1-0"


def test_one_is_listed_shown_paused_resumed_and_done(fleet: StandingFleet) -> None:
    place, held = fleet.place, Held()
    parent, child = researching(place, held)
    (one,) = told(place, "list", "--parent", parent)
    assert (one["agent_id"], one["parent_id"], one["root"], one["state"]) == (child, parent, parent, "running")
    assert (one["assigned_skill"], one["depth"], one["tenant"]) == ("research", 1, "default")
    assert one in told(place, "list", "--state", "running") and one not in told(place, "list", "--state", "idle")
    tree = [line.rstrip() for line in place.cli("agent", "list", "--tree", "--root", parent).stdout.splitlines()]
    assert tree[0].split() == [parent, "running"] and tree[1].split()[1:] == [
        child,
        "research",
        "running",
        "research",
    ]

    assert place.cli("agent", "pause", child).stdout == f"{child}: pausing\n"
    with place.fleet() as api:
        wait_for(lambda: api.agent(child).state == AgentState.PAUSED, "it is paused")
    again = place.cli("agent", "pause", child)
    assert again.returncode == 2
    assert again.stderr == (
        f"skillfleet: {child} can't become paused: it is paused, and what is paused can become running or failed, "
        "not paused\n"
    )
    held.let_go()
    assert place.cli("agent", "resume", child).returncode == 0
    assert place.cli("result", parent).stdout == "They say: They dance.\n"
    shown = place.cli("agent", "show", child).stdout.splitlines()
    assert "state: completed" in shown and "answer: They dance." in shown
    assert [line for line in shown if line.startswith("result of lab:") and "let go" in line]
    ended = place.cli("agent", "cancel", child)
    assert (ended.returncode, "has ended" in ended.stderr) == (2, True)


def test_one_that_is_cancelled_fails_and_its_parent_goes_on(fleet: StandingFleet) -> None:
    held = Held()
    parent, child = researching(fleet.place, held)
    assert fleet.place.cli("agent", "cancel", child).returncode == 0
    answer = fleet.place.cli("result", parent).stdout
    assert answer.startswith("They say: ") and "was cancelled" in answer
    wait_for(lambda: not held.runs(), "its script has died")
    one = told(fleet.place, "show", child)
    assert (one["state"], one["error"]) == ("failed", "Cancelled.")
    assert one["started_at"] < one["completed_at"]


def test_what_is_no_agent_is_told_so(fleet: StandingFleet) -> None:
    for command in ("show", "pause", "resume", "cancel"):
        done = fleet.place.cli("agent", command, "nobody")
        assert (done.returncode, "no conversation 'nobody'" in done.stderr) == (2, True), command
