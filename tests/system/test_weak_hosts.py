"""Workers on hosts without a sandbox: they say what holds, and refuse where more is demanded."""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Require
from tests.system.fleet import PATIENCE_S, Place, running_fleet, wait_for
from tests.system.replies import call, python
from tests.system.servers import RedisServer
from tests.system.test_conversation import executions
from tests.system.weak_hosts import NO_ENGINE, WeakHost, weak_hosts

from skillfleet_workers.runtimes.isolation import sandbox_trouble
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.presence import live_processes

IN_CONTAINERS = """---
name: boxed
description: Wants a container.
metadata:
  skillfleet:
    runtime: container
---
Write Python.
"""


@pytest.fixture(params=weak_hosts(), ids=str)
def weak(request: pytest.FixtureRequest, require: Require) -> WeakHost:
    """Whatever stops a sandbox there, it is not this machine."""
    trouble = sandbox_trouble()
    require(not trouble, f"a host with sandboxes, to take them away: {trouble}")
    return weak_hosts()[request.param]


@pytest.fixture
def served(state_dir: Path) -> Iterator[Place]:
    """A place with a redis of its own."""
    with RedisServer(state_dir / "redis") as server:
        place = Place(state_dir, {"SKILLFLEET_REDIS_URL": server.url, **NO_ENGINE})
        yield place
        left = place.end()
    assert not [line for line in left if "redis-server" not in line]


def on(host: WeakHost, *arguments: str) -> list[str]:
    return [*host.around, "-m", *arguments]


def environment(place: Place, host: WeakHost, **more: str) -> dict[str, str]:
    return place.environment({**host.variables, **more})


@contextmanager
def worker(place: Place, host: WeakHost) -> Iterator[None]:
    command = on(host, "skillfleet_workers", "worker")
    variables = environment(place, host)
    with (place.folder / "worker.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=place.folder, env=variables, stdout=log, stderr=log)
    try:
        client = RedisUrls.of(place.settings).client()
        wait_for(
            lambda: (
                "worker" in {one.role for one in live_processes(client, place.settings.fleet)}
                or process.poll() is not None
            ),
            "a worker",
        )
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)


def doctor(place: Place, host: WeakHost, **more: str) -> dict[str, dict[str, Any]]:
    done = subprocess.run(
        on(host, "skillfleet", "doctor", "--json"),
        cwd=place.folder, env=environment(place, host, **more), capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = json.loads(done.stdout)
    return {line["what"] if line["area"] == "isolation" else line["area"]: line for line in lines}


def test_a_worker_falls_back_to_processes_and_says_so(served: Place, weak: WeakHost) -> None:
    with running_fleet(served, workers=0), worker(served, weak), served.fleet() as fleet:
        model = served.script([python("print(6 * 7)", "six")], "It is ${six.stdout}.")
        report = fleet.result(fleet.submit("How much is 6 * 7?", model=model))
        (six,) = executions(served, fleet, report.id)
        said = doctor(served, weak)
    assert (six.stdout, six.runtime, six.isolation) == ("42\n", "process", "process")
    assert "scripts run without a sandbox" in served.log("worker")
    assert "isolation process" in said["workers"]["detail"]
    assert said["process demanded"]["detail"].startswith("at most process here")
    assert (said["bubblewrap"]["ok"], bool(said["bubblewrap"]["fix"])) == (None, True)
    assert weak.why in said["bubblewrap"]["detail"] + said["user namespaces"]["detail"]


def test_a_worker_of_which_a_sandbox_is_demanded_does_not_start(served: Place, weak: WeakHost) -> None:
    demanded = {"SKILLFLEET_MIN_ISOLATION": "sandbox"}
    done = subprocess.run(
        on(weak, "skillfleet_workers", "worker"),
        cwd=served.folder, env=environment(served, weak, **demanded), timeout=PATIENCE_S,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("skillfleet: ")]
    assert "SKILLFLEET_MIN_ISOLATION demands 'sandbox'" in line and "process (process)" in line
    said = doctor(served, weak, **demanded)["sandbox demanded"]
    assert said["ok"] is False and said["fix"]


def test_a_skill_that_wants_a_container_is_refused_where_there_is_no_engine(served: Place) -> None:
    (served.skills / "boxed").mkdir()
    (served.skills / "boxed" / "SKILL.md").write_text(IN_CONTAINERS)
    with running_fleet(served, workers=0), worker(served, WeakHost("")), served.fleet() as fleet:
        asked = call("run_python_script", "it", skill_name="boxed", script="print('ran')")
        report = fleet.result(fleet.submit("Run it.", model=served.script([asked], "Done.")))
        (made,) = executions(served, fleet, report.id)
    assert (made.success, made.stdout, made.returncode) == (False, "", None)
    assert "engine" in (made.error or "")
