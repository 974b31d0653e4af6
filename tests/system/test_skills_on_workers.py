"""Which worker runs a skill: the one that has what the skill requires, as long as it lives."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.system.conftest import Shared
from tests.system.fleet import Place, interrupt, state_of, wait_for, wait_until_known
from tests.system.replies import Held, call, holding
from tests.system.servers import RedisServer

from skillfleet.catalogs import Catalogs
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.presence import LiveProcess, live_processes
from skillfleet_workers.wire.published import Snapshot

BINARY = "frobnicate"
QUEUE_TIMEOUT_S = 8

REQUIRING = f"""---
name: frobbing
description: Frobnicates.
metadata:
  requires:
    bins: ["{BINARY}"]
---
Frobnicate with the script.
"""

SCRIPT = f"""import subprocess
print(subprocess.run(["{BINARY}"], capture_output=True, text=True, check=True).stdout, end="")
"""


@pytest.fixture
def served(place: Place) -> Iterator[Place]:
    """A redis, an orchestrator, and a skill that requires a program."""
    place.add_skill("frobbing", {"SKILL.md": REQUIRING, "scripts/frob.py": SCRIPT})
    with RedisServer(place.folder / "redis-server") as server:
        variables = {
            "SKILLFLEET_REDIS_URL": server.url,
            "SKILLFLEET_QUEUE_TIMEOUT_SECONDS": str(QUEUE_TIMEOUT_S),
            "SKILLFLEET_GRACE_SECONDS": "1",
        }
        yield Place(place.folder, variables)


@contextmanager
def process(place: Place, *command: str, path: Path | None = None) -> Iterator[LiveProcess]:
    """`path`: the folder of the worker's own programs."""
    before = {one.pid for one in living(place)}
    started = place.start(*command, env={"SKILLFLEET_SCRIPT_PATH": str(path)} if path else None)
    try:
        wait_for(lambda: started.pid in {one.pid for one in living(place)}, "it lives")
        yield next(one for one in living(place) if one.pid == started.pid)
        assert started.pid not in before
    finally:
        if started.poll() is None:
            interrupt(started, signal.SIGTERM)


def living(place: Place) -> list[LiveProcess]:
    return live_processes(RedisUrls.of(place.settings).client(), place.settings.fleet)


def catalogs(place: Place) -> Catalogs:
    client = RedisUrls.of(place.settings).client()
    return Catalogs(client, 3600, lambda: [one for one in living(place) if one.serves("")])


def offered(place: Place, name: str = "frobbing") -> bool:
    """Whether a model would be told of the skill now."""
    return any(one.name == name and one.eligible for one in current(place).skills)


def current(place: Place) -> Snapshot:
    return catalogs(place).current() or Snapshot()


def skill_that_tells(place: Place, name: str, script: str) -> Path:
    """Its one script."""
    text = f"---\nname: {name}\ndescription: Tells.\n---\nRun tell.\n"
    return place.add_skill(name, {"SKILL.md": text, "scripts/tell.py": f"{script}\n"}) / "scripts/tell.py"


def tools(place: Place) -> Path:
    folder = place.folder / "tools"
    folder.mkdir()
    (folder / BINARY).write_text("#!/bin/sh\necho frobnicated\n")
    (folder / BINARY).chmod(0o755)
    return folder


def test_calls_of_a_skill_go_to_the_worker_that_has_what_it_requires(served: Place) -> None:
    runs = [call("run_skill_script", f"r{n}", skill_name="frobbing", script="frob") for n in range(10)]
    with (
        process(served, "orchestrator"),
        process(served, "worker"),
        process(served, "worker", path=tools(served)) as able,
        served.fleet() as fleet,
    ):
        wait_for(lambda: offered(served), "the skill is offered")
        report = fleet.result(fleet.submit("Frobnicate.", model=served.script(runs, "${r0.stdout}")))
    assert (report.status, report.answer) == ("completed", "frobnicated")
    assert {one.worker for one in report.tool_calls} == {able.name}


def test_without_that_worker_the_skill_is_gone_and_a_call_that_waits_ends_in_a_readable_error(served: Place) -> None:
    held, run = Held(), [call("run_skill_script", "run", skill_name="frobbing", script="frob")]
    model = served.script([holding(held)], run, "${run.error}: ${run.message}")
    with process(served, "orchestrator"), process(served, "worker"), served.fleet() as fleet:
        with process(served, "worker", path=tools(served)):
            wait_for(lambda: offered(served), "the skill is offered")
            begun = fleet.submit("Frobnicate.", model=model)
            wait_for(held.runs, "its first turn")
        wait_for(lambda: not offered(served), "the catalog has lost the skill")
        wait_for(held.runs, "its first turn goes on with the other worker")
        held.let_go()
        report = fleet.result(begun)
        (listed,) = [one for one in current(served).skills if one.name == "frobbing"]
    assert report.status == "completed"
    assert report.answer is not None and report.answer.startswith("no_worker_for_skill: ") and BINARY in report.answer
    assert not listed.eligible and BINARY in listed.reason


def test_a_skill_that_nobody_can_run_is_refused_at_once_with_its_reason(served: Place) -> None:
    run = [call("run_skill_script", "run", skill_name="frobbing", script="frob")]
    with process(served, "orchestrator"), process(served, "worker"), served.fleet() as fleet:
        report = fleet.result(fleet.submit("Frobnicate.", model=served.script(run, "${run.error}: ${run.message}")))
    assert report.answer is not None and report.answer.startswith("skill_not_eligible: ") and BINARY in report.answer


def test_a_conversation_keeps_the_skills_that_it_began_with(shared: Shared) -> None:
    place, held = shared.place, Held()
    script = skill_that_tells(place, "changing", "print('as it was')")
    first, tell = (
        [call("run_skill_script", alias, skill_name="changing", script="tell")] for alias in ("before", "told")
    )
    with place.fleet() as fleet:
        wait_until_known(place, "changing")
        begun = fleet.submit("Tell.", model=place.script(first, [holding(held)], tell, "${told.stdout}"))
        wait_for(held.runs, "the first turn")
        before = state_of(place, "changing")
        place.rewrite(script, "print('as it is now')\n")
        wait_until_known(place, "changing", other_than=before)
        held.let_go()
        old = fleet.result(begun)
        new = fleet.result(fleet.submit("Tell.", model=place.script(tell, "${told.stdout}")))
    assert (old.answer, new.answer) == ("as it was", "as it is now")
    (was,), (now,) = ([one for one in report.skills if one.name == "changing"] for report in (old, new))
    assert was.digest != now.digest
