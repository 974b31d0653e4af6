"""A conversation's limits: it ends as expired, with exit code 4 and the option that raises the limit."""

import json

from tests.system.conftest import Shared
from tests.system.fleet import Place, wait_for
from tests.system.replies import Held, call, holding
from tests.system.test_lone_fleet import started_script

EXPIRED = 4


def test_a_conversation_out_of_time_expires_and_its_script_is_dead(place: Place) -> None:
    held = Held()
    model = place.script([holding(held)], "Never said.")
    submit = place.start("submit", "--timeout", "6", "--model", model, "Wait.")
    script = started_script(held)
    assert script.is_running()

    with submit:
        assert submit.wait(60) == EXPIRED
    assert not script.is_running()
    (line,) = place.log("submit").splitlines()
    assert "--timeout" in line


def test_a_conversation_out_of_turns_expires(shared: Shared) -> None:
    model = shared.place.script(*[[call("list_skills")] for _ in range(3)], "Never said.")
    done = shared.place.cli("submit", "--json", "--max-turns", "2", "--model", model, "Go on.")
    report = json.loads(done.stdout)

    assert done.returncode == EXPIRED
    assert (report["status"], report["turns"], report["answer"]) == ("expired", 2, None)
    assert report["error"]["code"] == "max_turns"
    assert "--max-turns" in report["error"]["fix"]


def test_a_script_is_killed_on_a_running_fleet_too_when_time_is_up(shared: Shared) -> None:
    held = Held()
    model = shared.place.script([holding(held)], "Never said.")
    with shared.place.fleet() as fleet:
        name = fleet.submit("Wait.", model=model, timeout=3)
        script = started_script(held)
        assert script.is_running()
        assert fleet.result(name).status == "expired"
        wait_for(lambda: not script.is_running(), "the script is dead")
