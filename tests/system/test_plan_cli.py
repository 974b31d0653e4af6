"""Plans from the command line: checked without a fleet, executed on a fleet of their own, looked at afterwards."""

import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from jsonschema import Draft202012Validator
from tests.system.conftest import Shared
from tests.system.fleet import Place, interrupt, wait_for, wait_until_known
from tests.system.plan_tools import Holding, plan, plan_skill

ROOT = Path(__file__).parents[2]
PLANNER = ROOT / "skills/trip-planner"
SCHEMAS = ROOT / "docs/schemas"
ID = "6f1c2c1e-3f0a-4c57-9a33-0d6f1f2b8a10"
CARD = {"towns": ["Ahlen", "Beckum", "Coesfeld", "Dorsten"], "km": 108, "card": "card.svg"}


def written(place: Place, *tools: dict[str, Any]) -> str:
    file = place.folder / "plan.json"
    file.write_text(json.dumps({"requestId": ID, "tools": tools}))
    return str(file)


def tool(name: str, script: str = "hapless/scripts/fail.py", *needs: str, **more: Any) -> dict[str, Any]:
    return {"toolId": name, "toolPath": script, "input": {}, "dependencies": list(needs), **more}


def fits(value: object, schema: str) -> bool:
    Draft202012Validator(json.loads((SCHEMAS / f"{schema}.schema.json").read_text())).validate(value)
    return True


def line_of(text: str, begin: str) -> str:
    (found,) = [line for line in text.splitlines() if line.strip().startswith(begin)]
    return found


def with_planner(place: Place) -> Place:
    place.add_skill("trip-planner", PLANNER)
    return place


@pytest.fixture(scope="module")
def hapless(shared: Shared) -> Iterator[Place]:
    """A fleet with a skill whose one script fails, and one whose script does not."""
    scripts = {"hapless": "import sys\nsys.exit('no luck [red]today')\n", "steady": "print('{}')\n"}
    for name, script in scripts.items():
        text = f"---\nname: {name}\ndescription: Use in tests.\n---\n\n# {name}\n"
        shared.place.add_skill(name, {"SKILL.md": text, "scripts/fail.py": script})
    wait_until_known(shared.place, *scripts)
    yield shared.place
    for name in scripts:
        shutil.rmtree(shared.place.skills / name)


def test_a_plan_that_fits_is_told_with_its_levels_where_no_fleet_is(place: Place) -> None:
    file = str(PLANNER / "plan.json")
    done = place.cli("plan", "validate", file)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [f"{file}: a plan of 3 tools in 2 levels", "  1. route, weather", "  2. card"]
    told = place.cli("plan", "validate", "-", "--json", stdin=(PLANNER / "plan.json").read_text())
    assert (told.returncode, json.loads(told.stdout)) == (0, {"valid": True, "errors": []})
    assert not place.state_dir.exists()


def test_every_error_of_a_plan_is_told_with_its_place(place: Place) -> None:
    file = written(place, tool("a", "../etc/passwd"), tool("b", "s/x.py", "ghost"), tool("b", "s/x.py", "a"))
    done = place.cli("plan", "validate", file)
    assert (done.returncode, done.stdout) == (2, "")
    places = [line.removeprefix(f"skillfleet: {file}: ").partition(": ")[0] for line in done.stderr.splitlines()]
    assert places == ["tools[0].toolPath", "tools[2].toolId", "tools[1].dependencies[0]"]
    told = place.cli("plan", "validate", file, "--json")
    assert (told.returncode, [one["place"] for one in json.loads(told.stdout)["errors"]]) == (2, places)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "it is not JSON"),
        ("[]", "it is not a JSON object"),
        (json.dumps({"requestId": ID, "tools": [tool("a", "s/x", "b"), tool("b", "s/x", "a")]}), "a -> b -> a"),
    ],
)
def test_what_is_no_plan_is_refused_from_stdin(place: Place, text: str, said: str) -> None:
    done = place.cli("plan", "validate", "-", stdin=text)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr


def test_a_file_that_is_not_there_and_a_schema_that_is_not_are_bad_usage(place: Place) -> None:
    for arguments in (("validate", "gone.json"), ("run", "gone.json"), ("schema", "gone")):
        done = place.cli("plan", *arguments)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1) and "gone" in done.stderr


@pytest.mark.parametrize("name", ["plan-json", "execution-result"])
def test_the_schemas_are_those_of_the_documents(place: Place, name: str) -> None:
    done = place.cli("plan", "schema", name)
    assert json.loads(done.stdout) == json.loads((SCHEMAS / f"{name}.schema.json").read_text())


def test_the_readme_s_example_runs_on_a_fleet_of_its_own(place: Place) -> None:
    """And is shown afterwards, with a chart that is an image."""
    ((checking, running, showing),) = re.findall(
        r"```sh\n(skillfleet plan validate .*)\n(skillfleet plan run .*)\n(skillfleet plan show .*)\n```",
        (ROOT / "README.md").read_text(),
    )
    with_planner(place)
    assert place.cli(*shlex.split(checking)[1:]).returncode == 0
    done = place.cli(*shlex.split(running)[1:])
    assert done.returncode == 0, done.stderr
    (conversation,) = re.findall(r"tool calls \((\S+)\)", done.stderr)
    for name, key in (("route", "1.0"), ("weather", "1.1"), ("card", "1.2")):
        assert f"→ {key} {name}(" in done.stderr and f"✓ {key} {name} " in done.stderr
        assert "completed" in line_of(done.stdout, f"{name} ") and "█" in line_of(done.stdout, f"{name} ")
    assert f"plan {ID} succeeded: 3 of 3 tools completed" in done.stdout
    assert json.loads(done.stdout.partition("state: ")[2]) == {"trip": CARD}
    shown = place.cli(*shlex.split(showing.replace(" ID", f" {conversation}"))[1:])
    assert (shown.returncode, shown.stdout) == (0, done.stdout), shown.stderr
    svg = ElementTree.parse(place.folder / "trip.svg").getroot()
    told = [rect[0].text or "" for rect in svg.iter("{http://www.w3.org/2000/svg}rect") if len(rect)]
    assert sorted(one.partition(",")[0] for one in told) == ["card", "route", "weather"]
    (result,) = json.loads(place.cli("plan", "show", conversation, "--json").stdout)
    assert fits(result, "execution-result") and result["finalState"] == {"trip": CARD}
    status = place.cli("status", conversation).stdout
    assert [line.split()[1] for line in status.splitlines() if line.startswith("1.")] == ["route", "weather", "card"]


def test_the_document_s_examples_are_the_plan_that_ships_and_python_that_runs_it(place: Place) -> None:
    document = (ROOT / "docs/plans.md").read_text()
    ((plan,), (code,)) = (re.findall(rf"```{kind}\n(.*?)```", document, re.DOTALL) for kind in ("json", "python"))
    assert plan == (PLANNER / "plan.json").read_text()
    with_planner(place)
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=place.folder, env=place.environment(), capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip
    told = ["True 108", "route completed 0", "weather completed 0", "card completed 0"]
    assert done.stdout.splitlines() == told, done.stderr


def test_a_model_plans_and_its_attempts_are_told_one_after_the_other(hapless: Place) -> None:
    once = {"retryPolicy": {"maxRetries": 0}}
    drafts = [
        json.dumps({"tools": [tool("work", f"{skill}/scripts/fail.py") | once]}) for skill in ("hapless", "steady")
    ]
    done = hapless.cli("plan", "submit", "--follow", "--model", hapless.script(*drafts), "Get to work.")
    assert done.returncode == 0 and "succeeded: 1 of 1 tools completed" in done.stdout, done.stderr
    (conversation,) = re.findall(r"\((\w+)\)$", line_of(done.stderr, "completed in"))
    shown = hapless.cli("plan", "show", conversation).stdout
    attempts = [line for line in shown.splitlines() if line.startswith(("attempt", "work "))]
    assert [line.split()[:2] for line in attempts] == [
        ["attempt", "1:"], ["work", "failed"], ["attempt", "2:"], ["work", "completed"],
    ]  # fmt: skip
    told = json.loads(hapless.cli("plan", "show", conversation, "--json").stdout)
    assert [one["success"] for one in told] == [False, True]


def test_a_plan_that_fails_tells_each_tool_why_and_exits_as_what_has_failed(hapless: Place) -> None:
    retried = {"maxRetries": 1, "backoffMs": 1}
    file = written(hapless, tool("first", retryPolicy=retried), tool("then", "hapless/scripts/fail.py", "first"))
    done = hapless.cli("plan", "run", "--follow", file)
    assert done.returncode == 1
    assert "· 1.0 first: failed, and is run again: no luck [red]today" in done.stderr
    assert "(attempt 2)" in done.stderr and "✗ 1.1 then skipped" in done.stderr
    assert line_of(done.stdout, "first ").split()[:2] == ["first", "failed"]
    assert line_of(done.stdout, "then ").split() == ["then", "skipped"]
    assert "first: ToolExecutionFailed: exit code 1: no luck [red]today" in done.stdout
    assert "failed (tool failure): 0 of 2 tools completed" in done.stdout


def test_json_is_the_execution_result_alone_however_the_plan_ends(hapless: Place) -> None:
    file = written(hapless, tool("first", retryPolicy={"maxRetries": 0}))
    done = hapless.cli("plan", "run", "--json", file)
    result = json.loads(done.stdout)
    assert done.returncode == 1 and fits(result, "execution-result")
    assert (result["planId"], result["success"], result["failedTools"]) == (ID, False, ["first"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_ends_the_plan_and_its_scripts(place: Place, number: signal.Signals) -> None:
    place.add_skill("bench", plan_skill("bench"))
    held, file = Holding(), place.folder / "held.json"
    file.write_text(json.dumps(plan(held.tool("slow"), held.tool("next", "slow"))))
    running = place.start("plan", "run", str(file))
    wait_for(held.pids, "its script runs")
    assert interrupt(running, number) == 130
    assert not held.pids()
    (one,) = json.loads(place.cli("list", "--json").stdout)
    assert one["status"] == "cancelled"


def test_a_plan_is_detached_from_and_shown_by_its_id(hapless: Place) -> None:
    file = written(hapless, tool("first", retryPolicy={"maxRetries": 0}))
    conversation = hapless.cli("plan", "run", "--detach", file).stdout.strip()
    assert hapless.cli("result", conversation).returncode == 1
    shown = hapless.cli("plan", "show", conversation)
    assert (shown.returncode, line_of(shown.stdout, "first ").split()[1]) == (0, "failed")


def test_what_a_person_is_asked_about_is_not_run_before_they_have_said_so(hapless: Place) -> None:
    asked, free = tool("first", "steady/scripts/fail.py"), tool("second", "hapless/scripts/fail.py", "first")
    file = written(hapless, asked, free | {"required": False})
    rule = "run_skill_script@steady"
    conversation = hapless.cli("plan", "run", "--detach", "--ask", rule, file).stdout.strip()
    with hapless.fleet() as fleet:
        wait_for(lambda: fleet.transcript(conversation).with_persons, "it waits for a person")
        assert fleet.plan_result(conversation).execution_trace[0].state == "pending"
        assert [one.of_plan for one in fleet.status(conversation).waiting_for] == ["first"]
    shown = hapless.cli("status", conversation).stdout
    assert "waiting" in line_of(shown, "1.0") and "pending" in line_of(shown, "1.1")
    assert hapless.cli("approve", conversation).stdout == f"{conversation}: approved 1.0 first\n"
    assert hapless.cli("result", conversation).returncode == 0


@pytest.mark.parametrize("options", [["--deny", "*"], ["--allow", "*", "--deny", "run_skill_script@steady"]])
def test_what_the_submitter_denies_is_not_run(hapless: Place, options: list[str]) -> None:
    file = written(hapless, tool("first", "steady/scripts/fail.py"))
    done = hapless.cli("plan", "run", *options, file)
    assert done.returncode == 1 and "does not allow this call" in done.stdout


def test_a_plan_that_took_too_long_says_how_long_it_may(hapless: Place) -> None:
    file = written(hapless, tool("first", retryPolicy={"maxRetries": 1, "backoffMs": 60_000}))
    done = hapless.cli("plan", "run", "--timeout", "1.5", file)
    assert done.returncode == 4 and "limit of 1.5 s" in done.stderr


def test_a_plan_that_the_fleet_cannot_run_is_refused_with_the_place(hapless: Place) -> None:
    done = hapless.cli("plan", "run", written(hapless, tool("a", "nowhere/scripts/x.py")))
    assert done.returncode == 2 and "tools[0].toolPath: there is no skill 'nowhere'" in done.stderr


def test_a_chart_goes_to_stdout_and_a_terminal_without_its_characters_gets_their_numbers(hapless: Place) -> None:
    conversation = hapless.cli("plan", "run", "--detach", written(hapless, tool("first"))).stdout.strip()
    hapless.cli("result", conversation)
    drawn = hapless.cli("plan", "show", conversation, "--svg", "-").stdout
    assert ElementTree.fromstring(drawn).tag == "{http://www.w3.org/2000/svg}svg"
    shown = hapless.cli("plan", "show", conversation, env={"PYTHONIOENCODING": "ascii"})
    assert (shown.returncode, shown.stderr) == (0, "") and "\\xd7" in line_of(shown.stdout, "first ")


def test_what_executes_no_plan_has_none_to_show(hapless: Place) -> None:
    conversation = hapless.cli("submit", "--detach", "--model", hapless.script("Hello."), "Hi").stdout.strip()
    hapless.cli("result", conversation)
    shown = hapless.cli("plan", "show", conversation)
    assert (shown.returncode, shown.stderr) == (2, f"skillfleet: {conversation} executes no plan\n")
    assert hapless.cli("plan", "show", "nobody").returncode == 2
