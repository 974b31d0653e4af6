"""What has to run for a skill, in which order, and whether its parameters fit."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.skill_snapshots import published, snapshot

from skillfleet.subagents.chain import MAX_STEPS, chained
from skillfleet.subagents.models import ChainStep
from skillfleet_workers.wire.contract import ToolError
from skillfleet_workers.wire.published import Entry, PublishedSkill, Snapshot

PLACE = {"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"]}
THING = {"type": "object", "properties": {"object_id": {"type": "string"}}, "required": ["object_id"]}


def runs(
    name: str, *needs: str, script: str = "scripts/run.py", version: str = "1.0.0", **more: Any
) -> PublishedSkill:
    return published(name, version=version, entry=Entry(script=script, dependencies=needs, **more))


def steps(found: tuple[ChainStep, ...] | ToolError) -> dict[str, tuple[str, ...]]:
    assert not isinstance(found, ToolError), found
    return {step.skill: step.after for step in found}


def error(found: tuple[ChainStep, ...] | ToolError) -> ToolError:
    assert isinstance(found, ToolError), found
    assert found.message.endswith(".") and found.fix
    return found


@settings(deadline=None)
@given(st.data())
def test_of_any_skills_without_a_circle_each_comes_after_all_that_it_needs(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 12))
    needs = {place: data.draw(st.sets(st.integers(0, place - 1))) if place else set() for place in range(size)}
    scripts = {place: data.draw(st.booleans()) or not needs[place] for place in range(size)}
    fleet = snapshot(
        *(
            runs(f"s{place}", *(f"s{one}" for one in needs[place]), script="run.py" if scripts[place] else "")
            for place in data.draw(st.permutations(range(size)))
        )
    )
    found = steps(chained(fleet, f"s{size - 1}", {}))
    reached, ahead = set[int](), [size - 1]
    while ahead:
        reached.add(place := ahead.pop())
        ahead += needs[place] - reached
    assert found.keys() == {f"s{place}" for place in reached if scripts[place]}
    order = list(found)
    for name, after in found.items():
        assert all(order.index(one) < order.index(name) for one in after)
        direct = {f"s{one}" for one in needs[int(name[1:])] if scripts[one]}
        assert direct <= set(after)


@settings(deadline=None)
@given(st.integers(1, 8), st.integers(0, 3))
def test_any_circle_is_named(size: int, before: int) -> None:
    ring = [runs(f"r{place}", f"r{(place + 1) % size}") for place in range(size)]
    way = [runs(f"w{place}", f"w{place + 1}" if place + 1 < before else "r0") for place in range(before)]
    wrong = error(chained(snapshot(*ring, *way), "w0" if before else "r0", {}))
    assert wrong.error == "dependency_cycle"
    named = wrong.message.partition(": ")[2].rstrip(".").split(" -> ")
    assert named[0] == named[-1]
    assert sorted(named[1:]) == sorted(f"r{place}" for place in range(size))
    assert all(int(b[1:]) == (int(a[1:]) + 1) % size for a, b in pairwise(named))


@pytest.mark.parametrize(
    ("skill", "code", "told"),
    [
        ("gone", "unknown_skill", "There is no skill 'gone'."),
        ("lost", "unknown_skill", "There is no skill 'gone', on which 'lost' depends."),
        ("unable", "skill_not_eligible", "The skill 'unable' cannot run on any worker: no git."),
        ("read", "skill_not_runnable", "it does not say which script that would be."),
        ("wants-read", "skill_not_runnable", "The skill 'read', on which 'wants-read' depends,"),
    ],
)
def test_what_cannot_run_is_refused_and_says_why(skill: str, code: str, told: str) -> None:
    unable = runs("unable").model_copy(update={"eligible": False, "reason": "no git."})
    fleet = snapshot(runs("lost", "gone"), unable, "read", runs("wants-read", "read"))
    wrong = error(chained(fleet, skill, {}))
    assert (wrong.error, told in wrong.message) == (code, True), wrong


@pytest.mark.parametrize(
    ("count", "told"),
    [(0, "None runs without a model here."), (2, "s00, s01."), (20, ", s19."), (21, ", s19 and 1 more.")],
)
def test_where_there_is_no_such_skill_those_are_named_that_run_by_themselves(count: int, told: str) -> None:
    unable = runs("a").model_copy(update={"eligible": False})
    hidden = runs("b").model_copy(update={"hidden": True})
    able = [runs(f"s{place:02}") for place in range(count)]
    twice = [one.model_copy(update={"version": "2.0.0"}) for one in able[:1]]
    fix = error(chained(snapshot(unable, hidden, "read", *able, *twice), "gone", {})).fix
    assert fix.endswith(told) and ("These run without a model: s00" in fix) == bool(count)


def test_a_chain_has_so_many_skills_at_most() -> None:
    fleet = snapshot(
        *(runs(f"s{place}", *([f"s{place + 1}"] if place < MAX_STEPS else [])) for place in range(MAX_STEPS + 1))
    )
    assert len(steps(chained(fleet, "s1", {}))) == MAX_STEPS
    assert error(chained(fleet, "s0", {})).error == "chain_too_long"


def test_a_version_is_kept_where_the_name_alone_stands_for_another() -> None:
    fleet = snapshot(runs("detect", version="1.0.0"), runs("detect", version="2.0.0"), runs("grasp", "detect@1.0.0"))
    assert steps(chained(fleet, "grasp", {})) == {"detect@1.0.0": (), "grasp": ("detect@1.0.0",)}
    assert list(steps(chained(fleet, "detect@2.0.0", {}))) == ["detect"]


def test_a_step_comes_after_those_that_its_inputs_quote() -> None:
    quoting = {"grasp": {"object_id": "${detect.objects.0}", "where": "in the ${params.location}"}}
    fleet = snapshot(
        runs("detect"), runs("grasp"), runs("fetch", "grasp", "detect", script="", inputs=quoting, parameters=PLACE)
    )
    found = chained(fleet, "fetch", {"location": "${detect.trap}"})
    assert steps(found) == {"detect": (), "grasp": ("detect",)}
    assert not isinstance(found, ToolError)
    assert found[1].inputs == {"object_id": "${detect.objects.0}", "where": "in the $${detect.trap}"}


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ({"grasp": {"x": "${nobody.x}"}}, "chain_inputs"),
        ({"grasp": {"x": "${grasp.x}"}}, "chain_inputs"),
        ({"stranger": {"x": 1}}, "chain_inputs"),
        ({"grasp": {"x": "${params.nothing}"}}, "parameters_do_not_fit"),
        ({"grasp": {"x": "${detect.x}"}, "detect": {"x": "${grasp.x}"}}, "dependency_cycle"),
    ],
)
def test_inputs_that_lead_nowhere_are_refused(inputs: dict[str, Any], code: str) -> None:
    fleet = snapshot(
        runs("stranger"), runs("detect"), runs("grasp"), runs("fetch", "grasp", "detect", script="", inputs=inputs)
    )
    assert error(chained(fleet, "fetch", {})).error == code


def fetching(**more: Any) -> Snapshot:
    navigate, grasp = runs("navigate", parameters=PLACE), runs("grasp", "navigate", parameters=THING)
    return snapshot(navigate, grasp, runs("fetch", "grasp", **{"script": "", **more}))


@pytest.mark.parametrize(
    ("fleet", "skill", "params", "told"),
    [
        (fetching(), "navigate", {}, "'location' is a required property"),
        (fetching(), "navigate", {"location": 3}, "location: 3 is not of type 'string'"),
        (fetching(), "grasp", {"location": "hall"}, None),
        (fetching(), "grasp", {}, "'location' is a required property"),
        (fetching(), "grasp", {"location": "hall", "object_id": 3}, "object_id: 3 is not of type 'string'"),
        (fetching(), "fetch", {"location": "hall"}, None),
        (fetching(), "fetch", {"location": "hall", "typo": 1}, "'typo' is a parameter of none of its steps"),
        (
            fetching(parameters={**PLACE, "additionalProperties": False}),
            "fetch",
            {"location": "a", "b": 1},
            "'b' was",
        ),
        (fetching(parameters={"properties": {"location": {"default": "hall"}}}), "fetch", {}, None),
        (fetching(inputs={"navigate": {"location": "hall"}}), "fetch", {}, None),
        (fetching(inputs={"navigate": {"location": 3}}), "fetch", {}, "location: 3 is not of type 'string'"),
        (fetching(inputs={"grasp": {"object_id": 3}}), "fetch", {"location": "hall"}, "object_id: 3 is not of type"),
    ],
)
def test_parameters_are_checked_as_far_as_they_do_not_come_from_other_steps(
    fleet: Snapshot, skill: str, params: dict[str, Any], told: str | None
) -> None:
    found = chained(fleet, skill, params)
    if told is None:
        steps(found)
        return
    wrong = error(found)
    assert (wrong.error, told in wrong.message) == ("parameters_do_not_fit", True), wrong


def test_every_misfit_is_named() -> None:
    wrong = error(
        chained(
            snapshot(runs("a", parameters={"properties": {"x": {"type": "string"}}, "required": ["y"]})),
            "a",
            {"x": 1},
        )
    )
    assert "x: 1 is not" in wrong.message and "'y' is a required property" in wrong.message
