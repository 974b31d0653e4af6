"""The command line for scripts: what is on stdout, what is on stderr, what the options do."""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from typing import Any

import pytest
from tests.model_server import KEY
from tests.system.conftest import WORKERS, Shared
from tests.system.fleet import Place
from tests.system.replies import call, python

REPORT = {"id", "status", "answer", "error", "turns", "tool_calls", "usage", "elapsed_ms"}
CALL = {"name", "skill", "status", "worker", "runtime", "ms"}
SIX = ([python("print(6 * 7)", "six")], "It is ${six.stdout}.")


def one_value(done: "subprocess.CompletedProcess[str]") -> Any:
    """The JSON of the only line on stdout."""
    (line,) = done.stdout.splitlines()
    return json.loads(line)


def test_every_command_that_knows_conversations_prints_one_json_value(shared: Shared) -> None:
    cli = shared.place.cli
    submitted = cli("submit", "--json", "--model", shared.place.script(*SIX), "How much is 6 * 7?")
    report = one_value(submitted)

    assert (submitted.returncode, submitted.stderr) == (0, "")
    assert set(report) == REPORT
    assert (report["status"], report["answer"], report["error"]) == ("completed", "It is 42.", None)
    (made,) = report["tool_calls"]
    assert set(made) == CALL
    assert (made["name"], made["skill"], made["status"], made["runtime"]) == (
        "run_python_script", "lab", "succeeded", "process",
    )  # fmt: skip
    assert made["ms"] > 0
    assert set(report["usage"]) == {"input_tokens", "output_tokens"}
    for command in ("status", "result", "follow", "cancel"):
        assert one_value(cli(command, "--json", report["id"])) == report
    listed = one_value(cli("list", "--json", "--limit", "1"))
    assert listed == [report]


def test_a_detached_submit_can_be_asked_for_json_too(shared: Shared) -> None:
    done = shared.place.cli("submit", "--json", "--detach", "--model", shared.place.script(*SIX), "6 * 7?")
    report = one_value(done)
    assert set(report) == REPORT
    with shared.place.fleet() as fleet:
        assert fleet.result(report["id"]).answer == "It is 42."


def test_progress_goes_to_stderr_and_the_answer_alone_to_stdout(shared: Shared) -> None:
    done = shared.place.cli("submit", "--follow", "--model", shared.place.script(*SIX), "How much is 6 * 7?")
    assert (done.returncode, done.stdout) == (0, "It is 42.\n")
    for told in ("How much is 6 * 7?", "run_python_script", "42", "completed in"):
        assert told in done.stderr


def test_a_prompt_comes_from_stdin_and_a_system_prompt_stands_before_ours(shared: Shared) -> None:
    model = shared.provider.plays("Hello.")
    done = shared.place.cli("submit", "-", "--model", model, "--system", "Be brief.", stdin="A long\nprompt\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Hello.\n", "")
    (request,) = shared.provider.received(model)
    system, user = request.body["messages"]
    assert system["content"].startswith("Be brief.\n\n")
    assert "list_skills" in system["content"]
    assert user == {"role": "user", "content": "A long\nprompt\n"}


def test_skill_limits_a_conversation_to_the_skills_that_are_named(shared: Shared) -> None:
    model = shared.place.script([call("list_skills", "listed")], "${listed}")
    given = shared.place.cli("submit", "--skill", "more", "--skill", "lab", "--model", model, "List.")
    assert [skill["name"] for skill in one_value(given)] == ["lab"]
    withheld = shared.place.cli("submit", "--skill", "more", "--model", model, "List.")
    assert one_value(withheld) == []


def test_a_failed_conversation_is_told_on_stderr_and_in_json(shared: Shared) -> None:
    model = shared.place.script([call("list_skills")], "${nothing.stdout}")
    done = shared.place.cli("submit", "--model", model, "Fail.")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("skillfleet: failed in ")
    told = shared.place.cli("submit", "--json", "--model", model, "Fail.")
    assert told.returncode == 1
    assert one_value(told)["error"]["code"] == "script_reference"


def test_doctor_lists_all_that_a_fleet_needs(shared: Shared) -> None:
    done = shared.place.cli("doctor", "--json", env=shared.provider.variables)
    lines = one_value(done)
    assert done.returncode == 0
    areas = [line["area"] for line in lines]
    assert {"redis", "orchestrators", "workers", "model", "skills", "interpreters", "isolation"} <= set(areas)
    assert areas.count("workers") == WORKERS
    assert all(line["fix"] for line in lines if line["ok"] is False)
    assert KEY not in done.stdout
    assert shared.redis.password not in done.stdout


def test_doctor_fails_and_says_what_is_wrong_with_a_skill_or_a_redis(place: Place) -> None:
    (place.skills / "broken").mkdir()
    (place.skills / "broken" / "SKILL.md").write_text("---\nname: [\n---\n")
    done = place.cli("doctor")
    assert (done.returncode, done.stderr) == (1, "")
    assert "broken: skipped" in done.stdout
    for told in ("append-only file on", "no fleet is running", "LLM_API_KEY", "interpreters", "isolation"):
        assert told in done.stdout

    away = place.cli("doctor", "--json", env={"SKILLFLEET_REDIS_URL": "redis://127.0.0.1:1/0"})
    assert away.returncode == 1
    assert [line["ok"] for line in one_value(away) if line["area"] == "redis"] == [False]


def test_the_bare_command_shows_its_help_as_wrong_usage(place: Place) -> None:
    done = place.cli()
    assert (done.returncode, done.stdout) == (2, "")
    assert "Commands:" in done.stderr


def test_version_and_help_tell_what_a_script_must_know(place: Place) -> None:
    assert place.cli("--version").stdout == f"{version('skillfleet')}\n"
    told = place.cli("--help")
    assert told.returncode == 0
    words = " ".join(told.stdout.split())
    assert "0 answered; 1 failed or cancelled; 2 usage or settings; 3 no broker or no fleet" in words
    for command in ("submit", "follow", "status", "result", "list", "cancel", "up", "worker", "doctor"):
        assert command in words


EXAMPLE = """
from skillfleet import Fleet

with Fleet() as fleet:
    print(fleet.result(fleet.submit("What is 6 * 7?", model={model!r})).answer)
"""


@pytest.mark.parametrize("lone", [True, False], ids=["a fleet of its own", "a fleet that runs"])
def test_python_has_the_same_verbs(place: Place, shared: Shared, lone: bool) -> None:
    here = place if lone else shared.place
    example = EXAMPLE.format(model=place.script(*SIX))
    done = subprocess.run(
        [sys.executable, "-c", example],
        cwd=place.folder, env=here.environment(), capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "It is 42.\n", "")


def test_a_reader_that_goes_away_leaves_no_traceback(shared: Shared) -> None:
    near, far = os.pipe()
    os.close(near)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "skillfleet", "list"],
            cwd=shared.place.folder, env=shared.place.environment(), stdout=far, stderr=subprocess.PIPE, text=True,
            timeout=90, check=False,
        )  # fmt: skip
    finally:
        os.close(far)
    assert "Traceback" not in done.stderr
