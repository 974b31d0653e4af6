"""What a real fleet has done, asked for by the command line."""

import csv
import io
import json

from tests.orchestrator.made_history import NOON, execution, keep, opened
from tests.system.conftest import Shared
from tests.system.fleet import Place
from tests.system.replies import python

from skillfleet.fleet import Fleet


def test_what_a_fleet_has_run_is_in_its_history(shared: Shared) -> None:
    model = shared.place.script(
        [python("print(6 * 7)", "six"), python("raise SystemExit(3)", "bad")], "${six.stdout}"
    )
    ran = json.loads(shared.place.cli("submit", "--json", "--model", model, "How much is 6 * 7?").stdout)

    asked = shared.place.cli("history", "--json", "--agent", ran["id"], "--skill", "lab")
    assert (asked.returncode, asked.stderr) == (0, "")
    by_status = {one["status"]: one for one in json.loads(asked.stdout)}
    good, bad = by_status["success"], by_status["failed"]
    assert good["result"] == {"stdout": "42\n"}
    assert good["parameters"]
    assert good["duration_ms"] >= 0
    assert "exit code 3" in bad["error"]
    with shared.place.fleet() as fleet:
        assert {one.execution_id for one in fleet.history(agent=ran["id"])} == {
            good["execution_id"],
            bad["execution_id"],
        }
        assert sum(one.count for one in fleet.history_stats(skill="lab")) >= 2
        assert ran["id"] in [one.agent_id for one in fleet.history_conversations(limit=100)]


def test_the_history_answers_while_redis_is_away(place: Place) -> None:
    with opened(f"sqlite:///{place.state_dir / 'history.db'}", place.state_dir) as history:
        keep(history, [execution(1), execution(2, status="failed", error="=1+1")])
    away = {"SKILLFLEET_REDIS_URL": "redis://127.0.0.1:1/0"}

    told = place.cli("history", "--csv", env=away)
    assert told.returncode == 0
    assert "cannot use redis" in told.stderr
    rows = list(csv.DictReader(io.StringIO(told.stdout)))
    assert [(row["status"], row["error"], row["duration_ms"]) for row in rows] == [
        ("failed", "'=1+1", "10"), ("success", "", "10"),
    ]  # fmt: skip
    assert json.loads(rows[1]["result"]) == {"at": 1}

    counted = place.cli("history", "stats", "--plot", "--png", "stats.png", env=away)
    assert (counted.returncode, "navigate  1.0.0" in counted.stdout, "█ p50" in counted.stdout) == (0, True, True)
    assert (place.folder / "stats.png").read_bytes().startswith(b"\x89PNG")
    assert place.cli("history", "--skill", "none", env=away).stdout == "Nothing in the history fits.\n"


def test_what_cannot_be_asked_is_one_line_and_wrong_usage(place: Place) -> None:
    for wrong in (
        ("--since", "soon"),
        ("--status", "lost"),
        ("--skill", "lab", "stats"),
        ("prune", "--older-than", "9"),
    ):
        done = place.cli("history", *wrong, env={"SKILLFLEET_REDIS_URL": "redis://127.0.0.1:1/0"})
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert Fleet(place.settings).history(since=NOON) == ()
