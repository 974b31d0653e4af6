"""Subagents on a real fleet: many at once, deep, through deaths, cancellations and pauses."""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from uuid import uuid4

import pytest
from tests.conversation_steps import make_spec
from tests.system.fleet import wait_for
from tests.system.replies import Call, Held, Turn, call, holding, python, replies
from tests.system.standing_fleet import StandingFleet, standing_fleet

from skillfleet.app import make_ledger
from skillfleet.conversations.limits import Limits
from skillfleet.conversations.models import Conversation
from skillfleet.tools.definitions import definition
from skillfleet.tools.own import SPAWNING

OWN = tuple(definition(own) for own in SPAWNING)


@pytest.fixture(scope="module")
def fleet() -> Iterator[StandingFleet]:
    """With redis, an orchestrator and a worker."""
    with tempfile.TemporaryDirectory(prefix="sf-", dir="/tmp") as folder, standing_fleet(Path(folder)) as standing:
        standing.orchestrator("0")
        standing.worker("0", concurrency=3)
        yield standing


def submitted(fleet: StandingFleet, turns: Sequence[Turn], children: Mapping[str, Sequence[Turn]]) -> str:
    """The id of a conversation that may begin subagents."""
    script = replies(turns) | {"children": {name: replies(said)["replies"] for name, said in children.items()}}
    spec = make_spec(uuid4().hex)
    own = {"tools": (*spec.tools, *OWN), "subagents": True, "model": "scripted:tree", "script": script}
    ledger = make_ledger(fleet.place.settings)
    with ledger.client:
        ledger.submit(spec.model_copy(update=own | {"limits": Limits(timeout_s=300)}))
    return spec.id


def spawn(name: str, alias: str = "", *, wait: bool = True) -> Call:
    return call("spawn_subagent", alias or name, prompt=f"Be {name}.", name=name, wait=wait)


def tree(fleet: StandingFleet, root: str) -> dict[str, Conversation]:
    """By the end of the id that tells their place."""
    ledger = make_ledger(fleet.place.settings)
    with ledger.client:
        kept = [one.id for one in ledger.newest(50) if one.id.startswith(root)]
        return {name.removeprefix(root): found for name in kept if (found := ledger.load(name))}


def statuses(fleet: StandingFleet, root: str) -> dict[str, str]:
    return {name: one.status for name, one in tree(fleet, root).items()}


def answer(fleet: StandingFleet, root: str) -> str | None:
    with fleet.place.fleet() as api:
        return api.result(root).answer


def test_ten_at_once_and_three_levels_deep(fleet: StandingFleet) -> None:
    bees = [spawn("bee", f"bee{place}", wait=False) for place in range(9)]
    children: dict[str, Sequence[Turn]] = {
        "bee": [[python("print('buzz')", "said")], "${said.stdout}"],
        "queen": [[spawn("drone")], "queen of ${drone}"],
        "drone": [[spawn("egg")], "drone of ${egg}"],
        "egg": ["egg"],
    }
    turns: list[Turn] = [[*bees, spawn("queen", wait=False)], [call("await_subagents", "all")], "${all.9.answer}"]
    root = submitted(fleet, turns, children)
    assert answer(fleet, root) == "queen of drone of egg"
    family = tree(fleet, root)
    assert len(family) == 1 + 10 + 2
    assert {one.status for one in family.values()} == {"completed"}
    assert max(one.spec.depth for one in family.values()) == 3
    assert [child.shown for child in family[""].children[:9]] == ["buzz"] * 9


def test_a_root_that_is_cancelled_leaves_nobody_running(fleet: StandingFleet) -> None:
    held, beside = Held(), Held()
    children: dict[str, Sequence[Turn]] = {
        "child": [[spawn("grandchild")], "Never said."],
        "grandchild": [[holding(held)], "Never said."],
        "beside": [[holding(beside)], "Never said."],
    }
    root = submitted(fleet, [[spawn("beside", wait=False), spawn("child")], "Never said."], children)
    wait_for(lambda: held.runs() and beside.runs(), "both scripts run")
    with fleet.place.fleet() as api:
        api.cancel(root)
    wait_for(lambda: not (held.runs() or beside.runs()), "both scripts are gone")
    ended = dict.fromkeys(("", "-1-0", "-1-1", "-1-1-1-0"), "cancelled")
    wait_for(lambda: statuses(fleet, root) == ended, "all have ended")


def test_a_root_that_answers_leaves_nobody_running(fleet: StandingFleet) -> None:
    held = Held()
    waits = call("await_subagents", timeout=1)
    children: dict[str, Sequence[Turn]] = {"child": [[holding(held)], "Never said."]}
    root = submitted(fleet, [[spawn("child", wait=False)], [waits], "Enough."], children)
    assert answer(fleet, root) == "Enough."
    assert statuses(fleet, root) == {"": "completed", "-1-0": "cancelled"}
    wait_for(lambda: not held.runs(), "its script is gone")


def test_a_child_that_was_cut_off_is_recorded_and_plays_back(fleet: StandingFleet) -> None:
    held = Held()
    script = replies([[spawn("child", wait=False)], [call("await_subagents", timeout=5)], "Enough."])
    written, kept = fleet.place.folder / "cut.json", fleet.place.folder / "cut-kept.json"
    written.write_text(json.dumps(script | {"children": {"child": replies([[holding(held)], "Never."])["replies"]}}))
    with fleet.place.fleet() as api:
        first = api.result(api.submit("Go.", model=f"scripted:{written}", subagents=True, record=True))
        recording = api.record(first.id)
        kept.write_text(json.dumps(recording))
        again = api.result(api.submit("Go.", model=f"replay:{kept}"))
    child = recording["children"]["1.0"]
    assert (child["status"], len(child["turns"]), first.subagents[0].status) == ("cancelled", 1, "cancelled")
    assert (again.answer, again.divergences, again.subagents[0].status) == ("Enough.", (), "cancelled")


def test_a_tree_outlives_its_orchestrator(fleet: StandingFleet) -> None:
    held = Held()
    children: dict[str, Sequence[Turn]] = {"child": [[holding(held, "seen")], "${seen.stdout}"]}
    turns: list[Turn] = [[spawn("child", wait=False)], [call("await_subagents", "all")], "It said: ${all.0.answer}"]
    root = submitted(fleet, turns, children)
    wait_for(held.runs, "the child's script runs")
    killed = fleet.started["orchestrator"].pop()
    killed.kill()
    killed.wait()
    held.let_go()
    fleet.orchestrator("0")
    assert answer(fleet, root) == "It said: holding\nlet go"


def test_a_tree_that_is_paused_goes_on_after_everything_was_restarted(fleet: StandingFleet) -> None:
    held = Held()
    children: dict[str, Sequence[Turn]] = {
        "child": [[spawn("grandchild")], "child of ${grandchild}"],
        "grandchild": [[holding(held, "seen")], "${seen.status}"],
    }
    root = submitted(fleet, [[spawn("child")], "parent of ${child}"], children)
    wait_for(held.runs, "the script runs")
    with fleet.place.fleet() as api:
        api.pause(root)
    paused = dict.fromkeys(("", "-1-0", "-1-0-1-0"), "paused")
    wait_for(lambda: statuses(fleet, root) == paused, "all are paused")
    fleet.end("orchestrator", "worker")
    fleet.server.kill()
    fleet.server.start()
    fleet.orchestrator("0")
    fleet.worker("0", concurrency=3)
    assert statuses(fleet, root) == paused
    with fleet.place.fleet() as api:
        api.resume(root)
    wait_for(held.runs, "the script runs once more")
    held.let_go()
    assert answer(fleet, root) == "parent of child of succeeded"


def test_a_tree_that_was_recorded_plays_back_with_the_messages_it_exchanged(fleet: StandingFleet) -> None:
    asks = call("send_message", "asked", recipient_id="${child.agent_id}", message_type="request", payload={})
    answers = {"recipient_id": "parent", "message_type": "response", "correlation_id": "${heard.0.correlation_id}"}
    hears = call("receive_messages", "heard")
    turns: list[Turn] = [[spawn("child", wait=False)], [asks], [hears], [call("await_subagents")]]
    said: list[Turn] = [[hears], [call("send_message", payload={"n": 42}, **answers)], "Done."]
    script = replies([*turns, "${heard.0.payload.n}"])
    written, kept = fleet.place.folder / "tree.json", fleet.place.folder / "kept.json"
    written.write_text(json.dumps(script | {"children": {"child": replies(said)["replies"]}}))
    with fleet.place.fleet() as api:
        first = api.result(api.submit("Ask.", model=f"scripted:{written}", subagents=True, record=True))
        kept.write_text(json.dumps(api.record(first.id)))
        again = api.result(api.submit("Ask.", model=f"replay:{kept}"))
    assert (first.answer, again.answer, again.divergences) == ("42", "42", ())
    told = [
        message.content or "" for message in tree(fleet, again.id)[""].messages if message.name == "receive_messages"
    ]
    assert f'"sender_id": "{again.id}-1-0"' in told[0]
