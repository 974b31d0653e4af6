"""`skillfleet skills` as people start it: beside a fleet, without one, and in a pipe."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
from tests.system.conftest import Shared
from tests.system.fleet import COMMAND, Place, interrupt, wait_for

from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.presence import LiveProcess, Presence
from skillfleet_workers.wire.published import PublishedSkill, Snapshot
from skillfleet_workers.wire.snapshots import Snapshots


def test_skills_are_written_run_and_installed_with_no_fleet_and_no_redis(place: Place) -> None:
    assert place.cli("skills", "new", "greeter").returncode == 0
    ran = place.cli("skills", "run", "greeter", "hello", "--json", "-", stdin='{"name": "Ada"}')
    assert (ran.returncode, ran.stderr) == (0, "")
    assert json.loads(json.loads(ran.stdout)["stdout"]) == {"greeting": "Hello, Ada!"}
    packed = subprocess.run(["tar", "-czf", place.folder / "g.tar.gz", "-C", place.skills, "greeter"], check=True)
    assert packed.returncode == 0
    assert place.cli("skills", "install", "g.tar.gz", "--name", "again").returncode == 0
    listed = place.cli("skills", "list")
    assert listed.returncode == 0 and "again" in listed.stdout and "greeter" in listed.stdout
    assert not place.socket.exists() and not any("redis-server" in _name(p) for p in place.living())


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.NoSuchProcess:
        return ""


def test_wrong_usage_is_one_line_and_help_is_help(place: Place) -> None:
    for arguments in (
        ["bogus"],
        ["list", "--bogus"],
        ["run"],
        ["show", "nothing"],
        ["run", "lab", "x", "--timeout", "-1"],
    ):
        done = place.cli("skills", *arguments)
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), done.stderr
    helped = place.cli("skills", "install", "--help")
    assert helped.returncode == 0 and "skillfleet skills install" in helped.stdout
    alone = place.cli("skills")
    assert (alone.returncode, alone.stdout) == (2, "") and "validate" in alone.stderr
    assert "skills" in place.cli("--help").stdout


def test_settings_that_are_wrong_are_one_line(place: Place) -> None:
    done = place.cli("skills", "list", env={"SKILLS_FOLDER_PATH": "/nowhere"})
    assert done.returncode == 2 and done.stderr.startswith("skillfleet: SKILLS_FOLDER_PATH: ")


def test_the_worker_side_has_the_same_commands(place: Place) -> None:
    done = subprocess.run(
        [COMMAND[0], "-m", "skillfleet_workers", "skills", "show", "lab", "--json"],
        cwd=place.folder, env=place.environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout)["name"] == "lab"


@contextmanager
def published(shared: Shared, name: str, *skills: PublishedSkill, health: dict[str, str]) -> Iterator[None]:
    """A worker that says so of its skills."""
    settings = shared.place.settings
    with RedisUrls.of(settings).client() as client:
        snapshot = Snapshots(client, 600).write(Snapshot(skills=skills))
        me = LiveProcess(
            role="worker", name=name, pid=1, since=0.0, snapshot=snapshot, health=health, queue="elsewhere"
        )
        presence = Presence(client, settings.fleet, lambda: me)
        presence.start()
        try:
            yield
        finally:
            presence.close()


def skill(name: str, **more: object) -> PublishedSkill:
    return PublishedSkill.model_validate(
        {"name": name, "version": "1.0.0", "digest": "d", "description": "D.", **more}
    )


def test_a_list_says_what_each_live_worker_can_run(shared: Shared) -> None:
    one = published(shared, "one", skill("far", tags=("x",)), skill("gpu"), health={"far": "degraded"})
    two = published(
        shared, "two", skill("gpu", eligible=False, reason="it needs nvcc"), skill("secret", hidden=True), health={}
    )
    with one, two:
        plain = shared.place.cli("skills", "list", "--json")
        everything = shared.place.cli("skills", "list", "--json", "--all")
        tagged = shared.place.cli("skills", "list", "--json", "--tag", "x")
        told = shared.place.cli("skills", "list", "--all").stdout
    assert plain.returncode == everything.returncode == 0
    assert [found["name"] for found in json.loads(tagged.stdout)] == ["far"]
    shown = {found["name"]: found for found in json.loads(plain.stdout)}
    assert {"far", "gpu"} <= set(shown) and "secret" not in shown
    assert {on["worker"]: on["health"] for on in shown["far"]["workers"]} == {"one": "degraded"}
    assert {on["worker"]: (on["eligible"], on["reason"]) for on in shown["gpu"]["workers"]} == {
        "one": (True, ""), "two": (False, "it needs nvcc"),
    }  # fmt: skip
    assert "secret" in {found["name"] for found in json.loads(everything.stdout)}
    for line in ("far: on one: degraded", "gpu: on two: ineligible: it needs nvcc", "1 of 2 workers"):
        assert line in told


def test_a_reader_that_goes_away_is_no_error(place: Place) -> None:
    command = " ".join([*COMMAND, "skills", "list", "--json"])
    done = subprocess.run(
        ["bash", "-c", f"{command} | true; echo ${{PIPESTATUS[0]}}"],
        cwd=place.folder, env=place.environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr == "" and done.stdout.strip() in ("0", "141")


def test_what_runs_a_script_forgets_the_keys_of_models_and_ends_with_all_it_started(place: Place) -> None:
    (place.skills / "lab/waits.sh").write_text("sleep 600")
    running = place.start("skills", "run", "lab", "waits", "--timeout", "600", env={"LLM_API_KEY": "sk-secret"})
    wait_for(lambda: place.commands("sleep"), "the script runs")
    assert "LLM_API_KEY" not in psutil.Process(running.pid).environ()
    assert interrupt(running) == 130
