"""Code mode, from the model to the worker and back."""

import json
import secrets

from tests.system.conftest import Shared
from tests.system.replies import call


def test_a_model_searches_the_spec_and_runs_code_over_it_once_it_has_read_the_skill(shared: Shared) -> None:
    skill = f"service-{secrets.token_hex(3)}"
    own = "metadata:\n  skillfleet:\n    spec: api.json\n    context: ctx.json\n"
    files = {
        "SKILL.md": f"---\nname: {skill}\ndescription: A service.\n{own}---\nSearch first.\n",
        "api.json": json.dumps({"paths": {"/users": {}, "/pets": {}}}),
        "ctx.json": '{"base": "https://api"}',
    }
    shared.place.add_skill(skill, files)
    model = shared.provider.plays(
        [call("search", "early", skill_name=skill, code="spec")],
        [call("get_skill", skill_name=skill)],
        [call("search", "found", skill_name=skill, code="[p for p in spec['paths'] if 'user' in p]")],
        [call("execute", "done", skill_name=skill, code="ctx['base'] + list(spec['paths'])[0]")],
        "${early.error}; ${found.result.0}; ${done.result}",
    )
    with shared.place.fleet() as fleet:
        report = fleet.result(fleet.submit("Where are the users?", model=model))
    assert (report.status, report.answer) == ("completed", "unknown_tool; /users; https://api/users")
    assert [(one.name, one.skill, one.status) for one in report.tool_calls[2:]] == [
        ("search", skill, "succeeded"), ("execute", skill, "succeeded"),
    ]  # fmt: skip
    offers = [
        {one["function"]["name"]: one["function"]["description"] for one in asked.body["tools"]}
        for asked in shared.provider.received(model)
    ]
    assert [("search" in offer, "execute" in offer) for offer in offers] == [(False, False)] * 2 + [(True, True)] * 3
    assert f"in {skill}, spec is {{paths: {{'/users': {{}}, '/pets': {{}}}}}}; ctx has base." in offers[2]["execute"]
