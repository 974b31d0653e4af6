"""Calls go to the workers that can run them; where there is none any more, the model is told."""

import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

import pytest
from tests.system.fleet import PATIENCE_S, Place, running_fleet, wait_for
from tests.system.replies import SKILL, Held, holding, python
from tests.system.servers import RedisServer

from skillfleet.catalogs import Catalogs
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.presence import LiveProcess, live_processes

PICKY = """---
name: lab
description: Needs what only some machines have.
metadata:
  skillfleet:
    queue: gpu
---
Run what you like.
"""
QUEUE_TIMEOUT_S = 8
CALLS = 20
ABLE = {"SKILLFLEET_WORKER_QUEUES": "gpu", "SKILLFLEET_GRACE_SECONDS": "0"}


@pytest.fixture
def server(place: Place) -> Iterator[RedisServer]:
    with RedisServer(place.folder / "redis") as running:
        yield running


@pytest.fixture
def picky(place: Place, server: RedisServer) -> Place:
    """Its one skill asks for a queue."""
    here = Place(place.folder, {"SKILLFLEET_REDIS_URL": server.url})
    (here.skills / "lab" / "SKILL.md").write_text(PICKY)
    return here


def workers(place: Place) -> list[LiveProcess]:
    client = RedisUrls.of(place.settings).client()
    return [one for one in live_processes(client, place.settings.fleet) if one.role == "worker"]


def catalogs(place: Place) -> Catalogs:
    return Catalogs(RedisUrls.of(place.settings).client(), 60, lambda: workers(place))


@contextmanager
def one_more_worker(place: Place, settings: Mapping[str, str] = ABLE) -> Iterator[LiveProcess]:
    """Until the block ends; by default it serves the queue."""
    before = {one.name for one in workers(place)}
    process = place.start("worker", "--concurrency", "1", module="skillfleet_workers", env=settings)
    with ExitStack() as ending:
        ending.callback(end, process)
        wait_for(lambda: {one.name for one in workers(place)} - before, "the worker is there")
        yield next(one for one in workers(place) if one.name not in before)


def end(process: "subprocess.Popen[str]") -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    with process:
        process.wait(PATIENCE_S)


def test_every_call_comes_to_the_worker_that_can_run_it(picky: Place) -> None:
    calls = [python(f"print({number})", f"c{number}") for number in range(CALLS)]
    with running_fleet(picky, workers=1, concurrency=4), one_more_worker(picky) as able:
        assert able.routes == ("gpu",)
        with picky.fleet() as fleet:
            report = fleet.result(fleet.submit("Count.", model=picky.script(calls, "Done.")))
    assert report.answer == "Done."
    assert [made.status for made in report.tool_calls] == ["succeeded"] * CALLS
    assert {made.worker for made in report.tool_calls} == {able.name}


def test_a_worker_that_comes_later_takes_up_what_waits_for_it(picky: Place) -> None:
    held = Held()
    with running_fleet(picky, workers=1), picky.fleet() as fleet:
        with one_more_worker(picky):
            name = fleet.submit("Wait.", model=picky.script([holding(held), python("print(2)", "two")], "Done."))
            wait_for(held.runs, "the first call runs, and the second waits")
        assert fleet.status(name).status == "running"
        with one_more_worker(picky) as later:
            wait_for(held.runs, "the first call runs again")
            held.let_go()
            report = fleet.result(name)
    assert report.answer == "Done."
    assert [(made.status, made.worker) for made in report.tool_calls] == [("succeeded", later.name)] * 2


def test_where_the_last_able_worker_goes_its_skill_is_gone_and_what_waits_is_answered(picky: Place) -> None:
    held = Held()
    settings = {"SKILLFLEET_QUEUE_TIMEOUT_SECONDS": str(QUEUE_TIMEOUT_S)}
    with running_fleet(picky, workers=1, env=settings), picky.fleet() as fleet:
        current = catalogs(picky).current
        with one_more_worker(picky):
            assert (skill := current()) and [one.eligible for one in skill.skills] == [True]
            name = fleet.submit("Wait.", model=picky.script([holding(held), python("print(2)", "two")], "Done."))
            wait_for(held.runs, "the first call runs, and the second waits for its worker")
        wait_for(lambda: (now := current()) and not now.skills[0].eligible, "the skill is gone")
        report = fleet.result(name)
        (told,) = [message.content for message in fleet.transcript(name).messages if message.role == "tool"][1:]
    assert report.answer == "Done."
    assert report.tool_calls[1].status == "tool_error"
    assert told and "no_worker_for_skill" in told and "'lab'" in told and "gpu" in told


def test_a_skill_that_one_worker_lacks_gets_a_route_while_that_one_is_there(picky: Place) -> None:
    (picky.skills / "lab" / "SKILL.md").write_text(SKILL)
    bare = picky.folder / "bare"
    bare.mkdir()
    calls = [python(f"print({number})", f"c{number}") for number in range(CALLS)]
    model = picky.script(calls, "Done.")
    with running_fleet(picky, workers=1), picky.fleet() as fleet:
        (first,) = workers(picky)
        with one_more_worker(picky, {"SKILLS_FOLDER_PATH": str(bare), "SKILLFLEET_GRACE_SECONDS": "0"}):
            early = fleet.result(fleet.submit("At once.", model=model))
            wait_for(lambda: any(one.routes for one in workers(picky)), "the first one takes a route")
            later = fleet.result(fleet.submit("When all agree.", model=model))
        wait_for(lambda: not any(one.routes for one in workers(picky)), "it takes all again")
        after = fleet.result(fleet.submit("Alone.", model=model))
    for report in (early, later, after):
        assert [(made.status, made.worker) for made in report.tool_calls] == [("succeeded", first.name)] * CALLS


def test_a_worker_takes_its_routes_again_when_redis_is_back(picky: Place, server: RedisServer) -> None:
    model = picky.script([python("print(42)", "a")], "${a.stdout}")
    with running_fleet(picky, workers=1), one_more_worker(picky) as able, picky.fleet() as fleet:
        before = fleet.result(fleet.submit("Before.", model=model))
        server.kill()
        server.start()
        after = fleet.result(fleet.submit("After.", model=model))
    for report in (before, after):
        assert (report.answer, [made.worker for made in report.tool_calls]) == ("42", [able.name])


def test_a_fleet_for_one_submit_takes_the_calls_of_its_own_routes(place: Place) -> None:
    (place.skills / "lab" / "SKILL.md").write_text(PICKY)
    calls = [[python(f"print({number})", f"c{number}")] for number in range(4)]
    done = place.cli("submit", "--model", place.script(*calls, "${c3.stdout}"), "Count.", env=ABLE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")
    assert not place.living()
