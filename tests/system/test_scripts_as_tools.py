"""A skill's scripts as tools of their own, from the model to the worker and back."""

import secrets

from tests.system.conftest import Shared
from tests.system.fleet import Place
from tests.system.replies import call

SCRIPT = '''"""Greet somebody."""
import json, sys
print(json.dumps({"argv": sys.argv[1:], "stdin": sys.stdin.read()}))
'''


def greeter(place: Place) -> str:
    """A new skill with one script."""
    name = f"greeter-{secrets.token_hex(3)}"
    text = f"---\nname: {name}\ndescription: Greets.\n---\nGreet people.\n"
    return place.add_skill(name, {"SKILL.md": text, "scripts/greet.py": SCRIPT}).name


def test_a_model_calls_a_script_by_its_own_name_once_it_has_read_the_skill(shared: Shared) -> None:
    skill = greeter(shared.place)
    tool = f"{skill}__greet"
    model = shared.provider.plays(
        [call(tool, "early")],
        [call("get_skill", skill_name=skill)],
        [call(tool, "late", args=["Ada"])],
        "${early.error}; ${late.json.argv.0}",
    )
    with shared.place.fleet() as fleet:
        report = fleet.result(fleet.submit("Greet Ada.", model=model))
    assert (report.status, report.answer) == ("completed", "unknown_tool; Ada")
    assert [(one.name, one.status) for one in report.tool_calls] == [
        (tool, "tool_error"), ("get_skill", "succeeded"), (tool, "succeeded"),
    ]  # fmt: skip
    assert report.tool_calls[-1].skill == skill
    offers = [{one["function"]["name"] for one in asked.body["tools"]} for asked in shared.provider.received(model)]
    assert [tool in offer for offer in offers] == [False, False, True, True]


def test_a_scripted_model_calls_it_too(shared: Shared) -> None:
    skill = greeter(shared.place)
    model = shared.place.script(
        [call("get_skill", skill_name=skill)],
        [call(f"{skill}__greet", "greeting", arguments={"who": "Ada"})],
        "${greeting.json.stdin}",
    )
    with shared.place.fleet() as fleet:
        report = fleet.result(fleet.submit("Greet Ada.", model=model))
    assert report.answer == '{"who": "Ada"}'
