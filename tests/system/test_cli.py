"""The command line for scripts: what is on stdout, what is on stderr, what the options do."""

import io
import json
import os
import pty
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from tests.model_server import KEY
from tests.system.conftest import WORKERS, Shared
from tests.system.fleet import COMMAND, Place
from tests.system.replies import call, python

from skillfleet.errors import BadRequestError
from skillfleet_workers.runtimes.isolation import sandbox_trouble

ROOT = Path(__file__).parents[2]
REPORT = {
    "id", "parent_id", "status", "answer", "error", "turns", "tool_calls", "usage", "elapsed_ms", "dropped_results",
    "snapshot", "waiting_for", "data", "divergences", "limits", "skills", "artifacts", "subagents",
    "tenant", "priority",
}  # fmt: skip
USAGE = {"input_tokens", "output_tokens", "cached_input_tokens", "cache_write_tokens", "cost"}
CALL = {"key", "name", "skill", "status", "worker", "runtime", "ms", "child", "of_plan", "begun"}
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
        "run_python_script", "lab", "succeeded", "process" if sandbox_trouble() else "warm",
    )  # fmt: skip
    assert made["ms"] > 0
    assert set(report["usage"]) == USAGE
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
    assert {"redis", "orchestrators", "workers", "model", "files", "skills", "interpreters", "isolation"} <= set(
        areas
    )
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
    assert (
        "0 answered; 1 failed or cancelled; 2 usage or settings; 3 no broker, fleet, artifact store or history"
        in words
    )
    for command in ("submit", "follow", "status", "result", "list", "cancel", "up", "worker", "doctor"):
        assert command in words


EXAMPLE = """
from skillfleet import Fleet

from skillfleet_workers.runtimes.isolation import sandbox_trouble

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


def test_a_tool_that_is_named_like_markup_is_shown_as_it_is_named(shared: Shared) -> None:
    model = shared.place.script(
        [call("[/nope]"), call(":smile:"), call("get_skill", skill_name="[bold]")], "[/red] :smile:"
    )
    done = shared.place.cli("submit", "--json", "--model", model, "Call what is not there.")
    status = shared.place.cli("status", one_value(done)["id"])
    assert (status.returncode, status.stderr) == (0, "")
    for name in ("[/nope]", ":smile:", "[bold]", "[/red] :smile:"):
        assert name in status.stdout


COMMANDING = "\x1b]0;owned\x07 \x9b2J \u202etxt\u2066 \x7f \b"
VISIBLE = "␛]0;owned␇ \\x9b2J \\u202etxt\\u2066 ␡ ␈"


def test_what_a_script_prints_does_not_command_the_terminal(shared: Shared) -> None:
    printing = f"print(*[{COMMANDING!a}, 'end'], sep='')"
    model = shared.place.script([python(printing, "said")], "It is ${said.stdout}")
    name = one_value(shared.place.cli("submit", "--json", "--model", model, COMMANDING))["id"]
    followed = shared.place.cli("follow", name)
    assert followed.stderr.count(VISIBLE) == 2, "the prompt and the tail of the output"
    assert followed.stdout == f"It is {COMMANDING}end\n", "a pipe gets the answer as it is"
    for seen in (followed.stderr, on_a_terminal(shared.place, "status", name), on_a_terminal(shared.place, "list")):
        assert VISIBLE in seen
        assert not set("\x07\x9b\u202e\u2066\x7f\b") & set(seen)
        assert "\x1b]" not in seen


def on_a_terminal(place: Place, *arguments: str) -> str:
    """What the command writes to a terminal that is its stdout."""
    near, far = pty.openpty()
    variables = place.environment({"TERM": "xterm", "COLUMNS": "200"})
    with subprocess.Popen([*COMMAND, *arguments], cwd=place.folder, env=variables, stdout=far) as process:
        os.close(far)
        with os.fdopen(near, "rb", buffering=0) as terminal:
            written = b"".join(iter(lambda: _chunk(terminal), b""))
    assert process.returncode == 0
    return written.decode()


def _chunk(terminal: io.FileIO) -> bytes:
    try:
        return terminal.read(4096)
    except OSError:  # what Linux answers when the other side is closed
        return b""


@pytest.mark.parametrize("command", ["list", "doctor", "--help", "--version"])
@pytest.mark.parametrize("stderr_too", [False, True])
def test_a_reader_that_goes_away_is_no_error_worth_a_word(shared: Shared, command: str, stderr_too: bool) -> None:
    near, far = os.pipe()
    os.close(near)
    try:
        done = ran_to(far, shared.place, command, stderr=far if stderr_too else subprocess.PIPE)
    finally:
        os.close(far)
    assert done.returncode == 141
    assert not done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("command", ["list", "doctor", "--version"])
def test_a_full_disk_under_the_output_is_one_line(shared: Shared, command: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = ran_to(full.fileno(), shared.place, command)
    assert (done.returncode, done.stderr) == (1, "skillfleet: No space left on device\n")


def test_a_closed_stdout_is_no_error(shared: Shared) -> None:
    closing = "import os, runpy, sys; os.close(1); sys.argv = ['skillfleet', 'list']; sys.stdout = None; "
    closing += "runpy.run_module('skillfleet', run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", closing],
        cwd=shared.place.folder, env=shared.place.environment(), stderr=subprocess.PIPE, timeout=90, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")


def ran_to(
    stdout: int, place: Place, command: str, *, stderr: int = subprocess.PIPE
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*COMMAND, command],
        cwd=place.folder, env=place.environment(), stdout=stdout, stderr=stderr, text=True, timeout=90, check=False,
    )  # fmt: skip


def test_the_documented_script_plays_as_it_is_documented(place: Place) -> None:
    document = (ROOT / "docs/scripted-model.md").read_text()
    script, printed = (re.findall(f"```{kind}\n(.*?)```", document, re.DOTALL)[0] for kind in ("yaml", "text"))
    (place.folder / "replies.yaml").write_text(script)
    played = place.cli(
        "submit", "--model", "scripted:replies.yaml", "How much is 6 * 7?",
        env={"SKILLS_FOLDER_PATH": str(ROOT / "skills")},
    )  # fmt: skip
    assert (played.returncode, played.stdout, played.stderr) == (0, printed, "")


def test_text_that_no_json_can_carry_is_refused_before_anything_is_stored(place: Place) -> None:
    with place.fleet() as fleet:
        model = place.script("Hello.")
        with pytest.raises(BadRequestError, match=r"the prompt .* surrogate"):
            fleet.submit("\udcff", model=model)
        with pytest.raises(BadRequestError, match=r"the system prompt .* surrogate"):
            fleet.submit("Hello?", system="\udcff", model=model)
        assert fleet.list() == ()
