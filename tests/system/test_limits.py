"""A conversation's limits: after a last turn it ends as expired, with exit code 4 and the option that raises the
limit."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.system.conftest import Shared
from tests.system.fleet import Place, wait_for
from tests.system.replies import Held, call, holding, python
from tests.system.servers import Provider, provider
from tests.system.test_lone_fleet import started_script

EXPIRED = 4
ROOT = Path(__file__).parents[2]
PRICES = "models:\n  '*': {prices: {input: 1000, output: 1000}}\n"


@pytest.fixture(scope="module")
def models() -> Iterator[Provider]:
    with provider() as here:
        yield here


def test_a_conversation_out_of_time_expires_and_its_script_is_dead(place: Place) -> None:
    held = Held()
    model = place.script([holding(held)], "It did not finish.")
    submit = place.start("submit", "--timeout", "15", "--model", model, "Wait.")
    script = started_script(held)
    assert script.is_running()

    with submit:
        answer, _ = submit.communicate(timeout=60)
    assert (answer, submit.returncode) == ("It did not finish.\n", EXPIRED)
    assert not script.is_running()
    (line,) = place.log("submit").splitlines()
    assert "--timeout" in line


def test_a_conversation_out_of_turns_expires(shared: Shared) -> None:
    model = shared.place.script(*[[call("list_skills")] for _ in range(2)], "So far this.")
    done = shared.place.cli("submit", "--json", "--max-turns", "2", "--model", model, "Go on.")
    report = json.loads(done.stdout)

    assert done.returncode == EXPIRED
    assert (report["status"], report["turns"], report["answer"]) == ("expired", 3, "So far this.")
    assert report["error"]["code"] == "max_turns"
    assert "--max-turns" in report["error"]["fix"]


def test_a_script_is_killed_on_a_running_fleet_too_when_time_is_up(shared: Shared) -> None:
    held = Held()
    model = shared.place.script([holding(held)], "Never said.")
    with shared.place.fleet() as fleet:
        name = fleet.submit("Wait.", model=model, timeout=10)
        script = started_script(held)
        assert script.is_running()
        assert fleet.result(name).status == "expired"
        wait_for(lambda: not script.is_running(), "the script is dead")


def test_a_budget_ends_a_run_on_a_fleet_of_its_own(place: Place, models: Provider) -> None:
    """As the README shows it."""
    (line,) = re.findall(r"^skillfleet (submit .*--max-cost.*)$", (ROOT / "README.md").read_text(), re.MULTILINE)
    prices = place.folder / "prices.yaml"
    prices.write_text(PRICES)
    variables = models.variables | {"SKILLFLEET_MODELS_FILE": str(prices)}
    model = models.plays([call("list_skills")], "So far this.")
    done = place.cli(*shlex.split(line), "--model", model, env=variables)
    assert (done.returncode, done.stdout) == (EXPIRED, "So far this.\n")
    assert "--max-cost" in done.stderr and re.search(r"\d+ tokens in, \d+ out, cost \d", done.stderr)


def test_a_cost_that_nobody_can_tell_is_refused_with_the_fix(place: Place, models: Provider) -> None:
    done = place.cli("submit", "--max-cost", "1", "--model", models.plays("42"), "Go on.", env=models.variables)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2
    assert "SKILLFLEET_MODELS_FILE" in line


def test_fifty_calls_of_one_turn_are_all_made_and_repeated_ones_are_not(shared: Shared) -> None:
    fifty = [python(f"print({number} * 2)", f"n{number}") for number in range(50)]
    with shared.place.fleet() as fleet:
        told = fleet.submit("Go.", model=shared.place.script(fifty, "${n0.stdout} ${n49.stdout}"))
        looping = fleet.submit("Go.", model=shared.place.script(*[[call("list_skills")]] * 6, "I am stuck."))
        assert (fleet.result(told).answer or "").split() == ["0", "98"]
        stopped = fleet.result(looping)
    assert stopped.error is not None
    assert (stopped.status, stopped.answer, stopped.error.code) == ("expired", "I am stuck.", "repeated_calls")
    assert sum(one.status == "succeeded" for one in stopped.tool_calls) == 3
