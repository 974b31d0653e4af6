"""Pause, resume, retry, fork, continue, keys and batches, from the command line, on a fleet of real processes."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

from tests.openai_rules import why_refused
from tests.system.conftest import Shared
from tests.system.fleet import Place, wait_for
from tests.system.replies import Held, call, holding, python
from tests.system.test_cli import one_value

from skillfleet.fleet import Fleet

USAGE = 2
SAID_BEFORE = ("Said before.",) * 2
"""The provider counts its replies in the transcript: two are the parent's."""


def refused(done: "subprocess.CompletedProcess[str]", *told: str) -> None:
    (line,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (USAGE, "")
    assert all(part in line for part in told), line


def submitted(place: Place, *turns: Any, model: str = "") -> str:
    """Detached; its id."""
    done = place.cli("submit", "--detach", "--model", model or place.script(*turns), "Begin.")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def statuses(fleet: Fleet, name: str) -> list[str | None]:
    return [made.status for made in fleet.status(name).tool_calls]


def test_a_paused_conversation_finishes_its_scripts_and_goes_on_when_it_is_resumed(shared: Shared) -> None:
    place, held = shared.place, Held()
    name = submitted(place, [holding(held)], [python("print(6 * 7)", "six")], "It is ${six.stdout}.")
    wait_for(held.runs, "the script runs")
    assert place.cli("pause", name).stdout == f"{name}: paused\n"
    with place.fleet() as fleet:
        wait_for(lambda: fleet.status(name).status == "paused", "it is paused")
        assert held.runs()
        refused(place.cli("retry", name), name, "has not ended (paused)")
        held.let_go()
        wait_for(lambda: statuses(fleet, name) == ["succeeded"], "the script that ran has finished")
        assert (fleet.status(name).status, fleet.status(name).turns) == ("paused", 1)
        assert one_value(place.cli("resume", "--json", name))["id"] == name
        assert fleet.result(name).answer == "It is 42."
    refused(place.cli("pause", name), name, "has ended (completed)", "--continue")
    refused(place.cli("resume", name), name, "has ended (completed)")


def test_a_continuation_asks_the_model_with_all_that_was_said(shared: Shared) -> None:
    place = shared.place
    first = shared.provider.plays([call("list_skills")], "Skills.")
    parent = one_value(place.cli("submit", "--json", "--model", first, "--max-turns", "5", "What is there?"))
    second = shared.provider.plays(*SAID_BEFORE, "More.")
    done = place.cli("submit", "--json", "--continue", parent["id"], "--model", second, "And now?")
    report = one_value(done)
    assert (done.returncode, report["answer"], report["parent_id"]) == (0, "More.", parent["id"])
    (request,) = shared.provider.received(second)
    roles = [message["role"] for message in request.body["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert why_refused(request.body) is None
    with place.fleet() as fleet:
        assert fleet.transcript(report["id"]).spec.limits.max_turns == 5
        assert fleet.status(parent["id"]).as_json() == parent
    refused(place.cli("submit", "--continue", parent["id"], "--system", "x", "And?"), "--system")


def test_a_conversation_that_was_cut_in_mid_turn_is_continued_and_retried(shared: Shared) -> None:
    place, held = shared.place, Held()
    name = submitted(place, [python("print(6 * 7)", "six")], [call("list_skills"), holding(held)], "Never said.")
    wait_for(held.runs, "the script runs")
    refused(place.cli("submit", "--continue", name, "And now?"), name, "has not ended (running)")
    refused(place.cli("fork", name, "--at", "1", "Instead?"), name, "has not ended (running)")
    place.cli("cancel", name)
    place.cli("result", name)
    wait_for(lambda: not held.runs(), "its script has died")
    model = shared.provider.plays(*SAID_BEFORE, "I see.")
    assert place.cli("submit", "--continue", name, "--model", model, "And now?").stdout == "I see.\n"
    (request,) = shared.provider.received(model)
    assert why_refused(request.body) is None
    again = place.cli("retry", "--detach", name).stdout.strip()
    wait_for(held.runs, "the turn that was cut is asked for again")
    held.let_go()
    with place.fleet() as fleet:
        assert fleet.result(again).answer == "Never said."
        assert fleet.status(again).parent_id == name
        assert [one.name for one in fleet.status(again).tool_calls] == ["list_skills", "run_python_script"]
        assert fleet.status(name).status == "cancelled"


def test_a_fork_goes_on_from_the_turn_that_is_named(shared: Shared) -> None:
    place = shared.place
    name = one_value(place.cli("submit", "--json", "--model", place.script([call("list_skills")], "Done."), "Go."))[
        "id"
    ]
    forked = one_value(place.cli("fork", "--json", name, "--at", "1", "Instead?"))
    assert (forked["answer"], forked["parent_id"], forked["turns"]) == ("Done.", name, 1)
    with place.fleet() as fleet:
        assert [message.role for message in fleet.transcript(forked["id"]).messages] == [
            "system", "user", "assistant", "tool", "user", "assistant",
        ]  # fmt: skip
    refused(place.cli("fork", name, "--at", "3", "Instead?"), "has turns 1 to 2, not 3")
    refused(place.cli("retry", name), "has answered")


def test_the_same_key_is_the_same_conversation_whoever_submits_it(shared: Shared) -> None:
    place = shared.place
    arguments = ("submit", "--json", "--idempotency-key", "one-key", "--model", place.script("Once."), "Say it.")
    first = one_value(place.cli(*arguments))
    assert one_value(place.cli(*arguments)) == first
    with place.fleet() as fleet:
        assert fleet.submit("Say it.", idempotency_key="one-key") == first["id"]


def lines(folder: Path, count: int) -> Path:
    path = folder / "batch.jsonl"
    path.write_text("".join(json.dumps({"prompt": f"Say {number}."}) + "\n" for number in range(count)))
    return path


def test_a_batch_that_is_submitted_again_goes_on_where_it_stopped(shared: Shared, tmp_path: Path) -> None:
    place, model = shared.place, shared.place.script("Said.")
    done = place.cli("submit", "--batch", str(lines(tmp_path, 3)), "--model", model, "--detach")
    first = done.stdout.split()
    assert (done.returncode, done.stderr, len(set(first))) == (0, "", 3)
    again = place.cli("submit", "--json", "--batch", str(lines(tmp_path, 5)), "--model", model)
    reports = [json.loads(line) for line in again.stdout.splitlines()]
    assert (again.returncode, again.stderr) == (0, "")
    assert [report["id"] for report in reports[:3]] == first
    assert [report["answer"] for report in reports] == ["Said."] * 5
    with place.fleet() as fleet:
        prompts = [fleet.transcript(report["id"]).messages[1].content for report in reports]
    assert prompts == [f"Say {number}." for number in range(5)]


def test_a_batch_with_failures_tells_how_many_and_exits_like_one_that_failed(shared: Shared, tmp_path: Path) -> None:
    place = shared.place
    path = tmp_path / "batch.jsonl"
    bad = {"prompt": "b", "model": place.script([call("list_skills")], "${nothing.stdout}")}
    path.write_text(f"{json.dumps({'prompt': 'a'})}\n{json.dumps(bad)}\n")
    done = place.cli("submit", "--batch", str(path), "--model", place.script("Said."))
    assert (done.returncode, len(done.stdout.split())) == (1, 2)
    assert done.stderr == "skillfleet: 1 completed, 1 failed\n"


def test_a_batch_that_is_killed_while_it_submits_is_neither_lost_nor_doubled(shared: Shared, tmp_path: Path) -> None:
    place, count = shared.place, 1000
    arguments = ("submit", "--batch", str(lines(tmp_path, count)), "--model", place.script("Said."), "--detach")
    with place.fleet() as fleet:
        before = {report.id for report in fleet.list(count)}
        victim = place.start(*arguments)
        wait_for(lambda: not before.issuperset(report.id for report in fleet.list(1)), "some are accepted")
        victim.send_signal(signal.SIGKILL)
        with victim:
            assert victim.wait(40) == -signal.SIGKILL
        half = {report.id for report in fleet.list(2 * count)} - before
        assert 0 < len(half) < count
        ids = set(place.cli(*arguments).stdout.split())
        assert half < ids
        assert len(ids) == count
        assert {report.id for report in fleet.list(2 * count)} - before == ids
        for name in ids:
            fleet.cancel(name)


def test_with_no_fleet_a_batch_runs_on_one_of_its_own(place: Place, tmp_path: Path) -> None:
    done = place.cli("submit", "--json", "--batch", str(lines(tmp_path, 2)), "--model", place.script("Said."))
    assert (done.returncode, done.stderr) == (0, "")
    assert [json.loads(line)["answer"] for line in done.stdout.splitlines()] == ["Said."] * 2
