"""What an activated skill governs, on a whole fleet."""

import secrets

from tests.system.conftest import Shared
from tests.system.fleet import Place
from tests.system.replies import call, python


def skill(place: Place, fields: str = "", body: str = "Add numbers.") -> str:
    """A new one."""
    name = f"adder-{secrets.token_hex(3)}"
    text = f"---\nname: {name}\ndescription: Adds.\n{fields}---\n{body}\n"
    return place.add_skill(name, {"SKILL.md": text, "notes.md": "Nothing to note.\n"}).name


def test_the_instructions_of_a_skill_come_with_its_activation_and_are_not_pasted_twice(shared: Shared) -> None:
    name = skill(shared.place, body="Add $1 and $2.")
    model = shared.provider.plays(
        [call("skill", name=name, arguments="1 2")], [call("skill", name=name, arguments="3 4")], "Done."
    )
    with shared.place.fleet() as fleet:
        report = fleet.result(fleet.submit("Add.", model=model))
        shown = [one.content or "" for one in fleet.transcript(report.id).messages if one.role == "tool"]
    assert report.status == "completed"
    assert "Add 1 and 2." in shown[0]
    assert "is active again" in shown[1] and "ARGUMENTS: 3 4" in shown[1]
    assert [one.worker != "" for one in report.tool_calls] == [True, False]


def test_the_provider_is_asked_for_the_skills_model_until_another_is_activated(shared: Shared) -> None:
    plain = skill(shared.place)
    other = shared.provider.plays(
        "unused", [call("list_skills")], [call("skill", name=plain)]
    )  # the same conversation, seen by the model of the skill: its second and third reply
    name = skill(shared.place, f"model: {other}\n")
    own = shared.provider.plays([call("skill", name=name)], "unused", "unused", "Done.")
    with shared.place.fleet() as fleet:
        report = fleet.result(fleet.submit("Add.", model=own))
    assert (report.status, report.answer) == ("completed", "Done.")
    assert [len(shared.provider.received(model)) for model in (own, other)] == [2, 2]


def test_a_call_that_the_skill_does_not_allow_is_refused_and_reaches_no_worker(shared: Shared) -> None:
    name = skill(shared.place, "allowed-tools: Read\n")
    model = shared.provider.plays(
        [call("skill", name=name)],
        [python("print(1)", "refused"), call("read_file_in_skill", skill_name=name, file_path="notes.md")],
        "${refused.error}",
    )
    with shared.place.fleet() as fleet:
        report = fleet.result(fleet.submit("Add.", model=model))
    assert report.answer == "tool_not_allowed"
    assert [(one.status, one.worker != "") for one in report.tool_calls] == [
        ("succeeded", True), ("tool_error", False), ("succeeded", True),
    ]  # fmt: skip


def test_the_model_is_shown_what_skills_there_are_and_the_record_says_which_were_used(shared: Shared) -> None:
    model = shared.provider.plays([call("skill", name="lab")], [call("get_skill", skill_name="lab")], "Done.")
    with shared.place.fleet() as fleet:
        report = fleet.result(fleet.submit("Work.", model=model))
    systems = {one.body["messages"][0]["content"] for one in shared.provider.received(model)}
    assert len(systems) == 1, "the same prompt in each turn"
    assert "<name>lab</name><description>A bench for scripts.</description>" in systems.pop()
    told = report.as_json()
    assert told["snapshot"]
    assert [(one["name"], bool(one["digest"])) for one in told["skills"]] == [("lab", True)]
