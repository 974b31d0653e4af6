"""What a skill's hooks, commands and schema do to the calls of a real conversation."""

import json
import secrets

from tests.system.conftest import Shared
from tests.system.fleet import Place
from tests.system.replies import call, python

SCHEMA = {
    "type": "object",
    "properties": {"count": {"type": "integer", "minimum": 1}, "word": {"type": "string", "default": "ho"}},
    "required": ["count"],
    "additionalProperties": False,
}

CHEER = """import json, sys
asked = json.load(sys.stdin)
print(json.dumps({"said": " ".join([asked["word"]] * asked["count"])}))
"""


def skill(place: Place, *fields: str, body: str = "Cheer.") -> str:
    """A new one, with a script that its schema governs."""
    name = f"cheer-{secrets.token_hex(3)}"
    head = "\n".join([f"name: {name}", "description: Cheers.", f"parameters_schema: '{json.dumps(SCHEMA)}'", *fields])
    return place.add_skill(name, {"SKILL.md": f"---\n{head}\n---\n{body}\n", "scripts/cheer.py": CHEER}).name


def test_arguments_that_do_not_fit_reach_no_script_and_the_model_corrects_them(shared: Shared) -> None:
    name = skill(shared.place)
    wrong, right = {"count": 0, "loud": True}, {"count": 3}
    model = shared.provider.plays(
        [call("skill", name=name)],
        [call(f"{name}__cheer", "wrong", arguments=wrong)],
        [call(f"{name}__cheer", "right", arguments=right)],
        "${wrong.error}: ${wrong.message} / ${right.json.said}",
    )
    with shared.place.fleet() as fleet:
        report = fleet.result(fleet.submit("Cheer.", model=model))
    assert report.answer is not None
    told, said = report.answer.split(" / ")
    assert told.startswith("arguments_do_not_fit: ") and "count" in told and "loud" in told
    assert said == "ho ho ho"
    assert [one.status for one in report.tool_calls] == ["succeeded", "tool_error", "succeeded"]
    tools = {one["function"]["name"]: one["function"] for one in shared.provider.received(model)[1].body["tools"]}
    assert tools[f"{name}__cheer"]["parameters"]["properties"]["arguments"]["required"] == ["count"]


def test_a_hook_that_fails_blocks_the_call_and_what_it_says_goes_to_the_model(shared: Shared) -> None:
    hook = "if grep -q forbidden; then echo 'not that' >&2; exit 1; fi"
    name = skill(
        shared.place,
        "hooks:",
        f"  PreToolExecution: {json.dumps(hook)}",
        "  PostToolExecution: 'echo seen >&2; exit 1'",
    )
    model = shared.provider.plays(
        [python("print('free: forbidden')", "before")],
        [call("skill", name=name)],
        [python("print('forbidden')", "blocked"), python("print('allowed')", "let_through")],
        "${before.stdout} / ${blocked.error}: ${blocked.message}",
    )
    with shared.place.fleet() as fleet:
        report = fleet.result(fleet.submit("Try.", model=model))
        shown = [one.content or "" for one in fleet.transcript(report.id).messages if one.role == "tool"]
    assert report.answer is not None
    before, blocked = report.answer.split(" / ")
    assert before == "free: forbidden"
    assert blocked.startswith("blocked_by_hook: ") and "not that" in blocked
    assert '"stdout": "allowed\\n"' in shown[3] and "seen" in shown[3]


def test_commands_in_the_instructions_are_run_before_arguments_are_filled_in(shared: Shared) -> None:
    name = skill(shared.place, body="It is !`echo from $SKILL_NAME`. Do $ARGUMENTS.")
    model = shared.provider.plays([call("skill", name=name, arguments="!`echo pwned` $(echo pwned)")], "Done.")
    with shared.place.fleet() as fleet:
        report = fleet.result(fleet.submit("Try.", model=model))
        (shown,) = [one.content or "" for one in fleet.transcript(report.id).messages if one.role == "tool"]
    assert f"It is from {name}. Do !`echo pwned` $(echo pwned)." in shown
