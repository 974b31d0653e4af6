"""Flower over a fleet: each tool call under its own name, readable, and behind a password."""

import base64
import json
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from tests.conftest import Require
from tests.system.fleet import PATIENCE_S, Place, free_port, interrupt, wait_for
from tests.system.replies import call, python

LOGIN = "someone:a-word"
HEADLESS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--virtual-time-budget=8000")
CALLS = (
    [call("list_skills"), call("get_skill", skill_name="lab")],
    [python("print(6 * 7)"), python("print('side by side')")],
    "Done.",
)


@dataclass(frozen=True, slots=True)
class Watched:
    """A fleet with Flower on it, through which one conversation has gone."""

    place: Place
    port: int

    def get(self, path: str, login: str | None = LOGIN) -> Any:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}")
        if login:
            request.add_header("Authorization", f"Basic {base64.b64encode(login.encode()).decode()}")
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return json.load(answer)

    def hears(self, workers: int) -> bool:
        """Whether events of so many workers have reached it: what was sent before it listened, it never shows."""
        try:
            return len(self.get("/workers?json=1")["data"]) == workers
        except (urllib.error.URLError, ConnectionError):
            return False


@pytest.fixture
def watched(place: Place) -> Iterator[Watched]:
    port = free_port()
    up = place.start("up", "--workers", "2", "--flower-port", str(port), env={"FLOWER_BASIC_AUTH": LOGIN})
    try:
        flower = Watched(place, port)
        wait_for(lambda: flower.hears(2) or up.poll() is not None, "flower hears both workers")
        assert up.poll() is None, place.log("up")
        with place.fleet() as fleet:
            wait_for(lambda: len(fleet.running()) == 4, "the fleet is there")
            report = fleet.result(fleet.submit("Look around.", model=place.script(*CALLS)))
            assert report.answer == "Done."
        yield flower
    finally:
        code = interrupt(up)
    assert code == 0, place.log("up")


def test_flower_shows_every_tool_call_under_its_own_name_behind_a_password(
    watched: Watched, require: Require
) -> None:
    for login in (None, "someone:else"):
        with pytest.raises(urllib.error.HTTPError) as refused:
            watched.get("/api/workers", login)
        assert refused.value.code == 401

    assert watched.hears(2)
    succeeded = wait_for(lambda: finished(watched), "flower has seen four tasks end")
    shown = sorted((task["name"], task["args"]) for task in succeeded)
    assert shown == [
        ("skills.get", "skill_name=lab"),
        ("skills.list", ""),
        ("skills.run_python", "skill_name=lab, script=print('side by side')"),
        ("skills.run_python", "skill_name=lab, script=print(6 * 7)"),
    ]

    browser = shutil.which("chromium") or shutil.which("google-chrome")
    require(browser is not None, "chromium, to see Flower's page as people do")
    page = render(watched, str(browser), "--dump-dom")
    for name in ("skills.get", "skills.list", "skills.run_python", "skill_name=lab"):
        assert name in page


def finished(watched: Watched) -> list[dict[str, Any]]:
    tasks = [task for task in watched.get("/api/tasks").values() if task["state"] == "SUCCESS"]
    return tasks if len(tasks) == 4 else []


def render(watched: Watched, browser: str, *options: str) -> str:
    """Flower's page of tasks, as a browser has built it."""
    profile = f"--user-data-dir={watched.place.folder / 'browser'}"
    url = f"http://{LOGIN}@127.0.0.1:{watched.port}/tasks"
    return subprocess.run(
        [browser, *HEADLESS, profile, *options, url], capture_output=True, text=True, timeout=90, check=True
    ).stdout
