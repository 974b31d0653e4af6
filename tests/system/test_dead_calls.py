"""Calls that were given up because workers died under them: what an operator sees of them, and does."""

import json
from uuid import uuid4

import pytest
from tests.conversation_steps import asks, call, make_spec, says
from tests.system.conftest import Shared

from skillfleet.app import make_ledger
from skillfleet.conversations.engine import step
from skillfleet.conversations.ledger import Claim
from skillfleet.conversations.moves import Effect, Submitted, ToolLost
from skillfleet.events import changes

SCRIPT = "print(6 * 7)\nprint('\x1b[2J')"


def given_up(shared: Shared) -> str:
    """The id of a call whose conversation went on without it, on another fleet of the same redis."""
    spec = make_spec(uuid4().hex)
    ledger = make_ledger(shared.place.settings.model_copy(update={"fleet": "elsewhere"}))
    with ledger.client:
        ledger.submit(spec)
        claim = ledger.claim(spec.id)
        assert isinstance(claim, Claim)
        asked = asks(call("run_python_script", skill_name="lab", script=SCRIPT))
        after, effects = claim.conversation, list[Effect]()
        for event in (Submitted(), asked, ToolLost("1.0"), says("I could not.")):
            after, more = step(after, event, claim.now)
            effects += more
        assert ledger.commit(claim.fence, after, changes(claim.conversation, after, effects), None)
    return f"{spec.id}.1.0"


def test_a_dead_call_is_listed_with_its_reason_and_shown_with_its_whole_payload(shared: Shared) -> None:
    name = given_up(shared)
    listed = json.loads(shared.place.cli("dead", "list", "--json").stdout)[0]
    assert (listed["id"], listed["tool"], listed["skill"]) == (name, "run_python_script", "lab")
    assert (listed["reason"], listed["effects"], listed["losses"]) == ("unsafe", "unsafe", 1)
    assert json.loads(shared.place.cli("dead", "show", name, "--json").stdout) == listed
    assert listed["request"] == {"skill_name": "lab", "script": SCRIPT}
    told = shared.place.cli("dead", "show", name).stdout
    assert "script: print(6 * 7)\nprint('␛[2J')" in told
    table = shared.place.cli("dead", "list", "--limit", "1").stdout
    assert name in table and "unsafe" in table


def test_a_dead_call_is_made_once_more_in_a_conversation_of_its_own(shared: Shared) -> None:
    name = given_up(shared)
    done = shared.place.cli("dead", "retry", name, "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["status"], report["parent_id"]) == (0, "completed", name.partition(".")[0])
    assert json.loads(report["answer"])["stdout"].startswith("42\n")
    assert [made["name"] for made in report["tool_calls"]] == ["run_python_script"]
    with shared.place.fleet() as fleet:
        assert fleet.status(name.partition(".")[0]).answer == "I could not."
        assert fleet.result(fleet.retry_dead(name, detach=True)).status == "completed"


@pytest.mark.parametrize("command", ["show", "retry"])
@pytest.mark.parametrize("name", ["nobody.1.0", "a.b.c"])
def test_a_call_that_is_not_dead_is_one_line_and_exit_code_2(shared: Shared, command: str, name: str) -> None:
    done = shared.place.cli("dead", command, name)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "skillfleet dead list" in done.stderr
