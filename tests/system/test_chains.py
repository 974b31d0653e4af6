"""Skills that run without a model, alone and as chains: "Fetch Object" of seed 002, on a real fleet."""

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.system.conftest import Shared
from tests.system.fleet import wait_until_known

from skillfleet.errors import BadRequestError
from skillfleet.fleet import Fleet
from skillfleet.history.reading import executions_of
from skillfleet.history.records import ExecutionStatus
from skillfleet_workers.wire.uuids import is_uuid4

ROBOT = Path(__file__).with_name("robot")
SKILLS = tuple(sorted(folder.name for folder in ROBOT.iterdir()))
KITCHEN = {"final_position": {"x": 10, "y": 5}}


@pytest.fixture(scope="module")
def robot(shared: Shared) -> Iterator[Shared]:
    for name in SKILLS:
        shared.place.add_skill(name, ROBOT / name)
    wait_until_known(shared.place, *SKILLS)
    yield shared
    for name in SKILLS:
        shutil.rmtree(shared.place.skills / name)


@pytest.fixture
def fleet(robot: Shared) -> Iterator[Fleet]:
    with robot.place.fleet() as fleet:
        yield fleet


def topics(fleet: Fleet, name: str) -> list[tuple[str, object]]:
    entries = [entry for entry in fleet.follow(name) if entry and entry.type == "sent"]
    return [(entry.data["topic"], entry.data["payload"]) for entry in entries]


def test_fetch_object_drives_sees_and_grasps_and_tells_of_each_step(fleet: Fleet) -> None:
    name = fleet.submit_skill("fetch-object", {"location": "kitchen"}, name="Fetcher")
    report = fleet.result(name)
    results = {"navigate": KITCHEN, "detect": {"objects": ["cup"]}, "grasp": {"grasped": True}}
    assert (report.status, json.loads(report.answer or "")) == ("completed", {"results": results})
    assert (report.usage.input_tokens, report.usage.output_tokens) == (0, 0)
    whole = fleet.skill_execution(name)
    assert (whole.status, whole.result, whole.skill_name) == (ExecutionStatus.SUCCESS, results, "fetch-object")
    assert (whole.parameters, whole.skill_version, whole.agent_id) == ({"location": "kitchen"}, "1.0.0", name)
    assert is_uuid4(whole.execution_id) and whole.duration_ms is not None
    entries = [entry for entry in fleet.follow(name) if entry]
    runs = executions_of(fleet.transcript(name).spec, entries)
    assert [(run.skill_name, run.skill_version, run.parameters) for run in runs] == [
        ("navigate", "1.0.0", {"location": "kitchen", "speed": 1.0}),
        ("detect", "1.1.0", {"area": "kitchen", **KITCHEN}),
        ("grasp", "2.0.0", {"object_id": "cup"}),
    ]
    assert topics(fleet, name) == [
        ("navigation.complete", KITCHEN),
        ("detection.complete", {"objects": ["cup"]}),
        ("manipulation.complete", {"grasped": True}),
    ]


def test_a_step_that_fails_stops_what_needs_it_and_what_came_before_is_kept(fleet: Fleet) -> None:
    name = fleet.submit_skill("fetch-object", {"location": "hall"})
    report, whole = fleet.result(name), fleet.skill_execution(name)
    assert report.error is not None
    assert (report.status, report.error.code) == ("failed", "step_failed")
    told = "The step 'detect' failed: exit code 1: it is dark in the hall. Not run because of that: grasp."
    assert (report.error.message, whole.error) == (told, told)
    assert json.loads(report.answer or "") == {"results": {"navigate": {"final_position": {"x": 1, "y": 2}}}}
    assert (whole.status, whole.result) == (ExecutionStatus.FAILED, None)
    assert [topic for topic, _ in topics(fleet, name)] == ["navigation.complete", "detection.failed"]


def test_steps_that_do_not_need_each_other_run_side_by_side(fleet: Fleet) -> None:
    name = fleet.submit_skill("report", {"location": "hall"})
    assert fleet.result(name).status == "completed"
    first = next(message for message in fleet.transcript(name).messages if message.role == "assistant")
    called = [json.loads(call.function.arguments)["skill_name"] for call in first.tool_calls or ()]
    assert sorted(called) == ["battery", "navigate"]
    results = {"navigate": {"final_position": {"x": 1, "y": 2}}, "battery": {"stdout": "80%\n"}}
    assert fleet.skill_execution(name).result == results


def test_parameters_that_do_not_fit_and_skills_that_cannot_run_are_refused_before_anything_starts(
    fleet: Fleet,
) -> None:
    before = [report.id for report in fleet.list(1)]
    for skill, params, told in (
        ("navigate", {"location": 3, "speed": -1}, "location: 3 is not of type 'string'; speed: -1 is less than"),
        ("navigate", {}, "'location' is a required property"),
        ("fetch-object", {"location": "hall", "object": "cup"}, "'object' was unexpected"),
        ("fetch", {}, "There is no skill 'fetch'"),
    ):
        with pytest.raises(BadRequestError, match=told):
            fleet.run_skill(skill, params)
    assert [report.id for report in fleet.list(1)] == before


def test_a_script_that_fails_is_run_again_as_its_skill_says_and_the_retries_are_counted(fleet: Fleet) -> None:
    run = fleet.run_skill("navigate", {"location": "moon"})
    assert (run.status, run.retry_count, run.result) == (ExecutionStatus.FAILED, 2, None)
    assert "there is no way to moon" in (run.error or "")
    started = [entry for entry in fleet.follow(run.agent_id) if entry and entry.type == "started"]
    assert len(started) == 3
    assert started[2].at - started[0].at >= 0.1 + 0.2


def test_the_example_of_the_document_comes_to_what_it_says(robot: Shared) -> None:
    document = (Path(__file__).parents[2] / "docs/chains.md").read_text()
    (command,) = re.findall(r"```sh\nskillfleet (agent run [^`]*)\n```", document)
    (results,) = re.findall(r"```json\n([^`]*)```", document)
    told = robot.place.cli(*shlex.split(command))
    assert (told.returncode, json.loads(told.stdout)) == (0, json.loads(results)), told.stderr
    inputs = re.findall(r"^ {6}\w+: \{.*$", document, re.MULTILINE)
    assert inputs and all(line in (ROBOT / "fetch-object/SKILL.md").read_text() for line in inputs)


def test_a_skill_runs_from_the_command_line(robot: Shared) -> None:
    (robot.place.folder / "params.json").write_text('{"location": "kitchen"}')
    told = robot.place.cli("agent", "run", "navigate", "--params", "@params.json", "--json")
    run = json.loads(told.stdout)
    assert (told.returncode, run["status"], run["result"]) == (0, "success", KITCHEN)
    plain = robot.place.cli("agent", "run", "report", "--params", '{"location": "hall"}', "--follow")
    assert (plain.returncode, json.loads(plain.stdout)["battery"]) == (0, {"stdout": "80%\n"})
    assert "skill_name=battery" in plain.stderr
    failed = robot.place.cli("agent", "run", "fetch-object", "--params", '{"location": "hall"}')
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "The step 'detect' failed" in failed.stderr
    for params in ("{", "[]", "@gone.json", '{"location": NaN}', '{"location": 3}'):
        wrong = robot.place.cli("agent", "run", "navigate", "--params", params)
        assert (wrong.stdout, wrong.stderr.count("\n")) == ("", 1), wrong.stderr
        assert wrong.returncode == 2
    left = robot.place.cli("agent", "run", "battery", "--detach").stdout.strip()
    assert json.loads(robot.place.cli("result", left).stdout) == {"results": {"battery": {"stdout": "80%\n"}}}
