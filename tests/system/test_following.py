"""Who follows a conversation, or waits for its end, while redis dies under them and comes back."""

import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import psutil
import pytest
from tests.system.fleet import Place, running_fleet, wait_for
from tests.system.replies import Held, holding
from tests.system.servers import RedisServer
from tests.system.test_lone_fleet import started_script
from tests.system.test_up import up

from skillfleet.events import Entry
from skillfleet.fleet import Fleet

HELD_ANSWER = "holding\nlet go"


@dataclass
class Followed:
    """A conversation whose one call runs until it is let go, on a fleet whose redis can be killed."""

    place: Place
    redis: RedisServer
    held: Held = field(default_factory=Held)
    notices: list[str] = field(default_factory=list)

    def submitted(self, fleet: Fleet) -> str:
        model = self.place.script([holding(self.held, "a")], "${a.stdout}")
        return fleet.submit("Wait.", model=model, detach=True)

    def kill(self) -> None:
        """In the middle of the call."""
        assert started_script(self.held).is_running()
        self.redis.kill()

    def mend(self) -> None:
        self.redis.start()
        self.held.let_go()

    def noted(self, notice: str) -> None:
        self.notices.append(notice)

    def check_notices(self) -> None:
        away, back = self.notices
        assert away.startswith("redis is away (") and back.startswith("redis is back after ")


@pytest.fixture
def followed(tmp_path: Path, state_dir: Path) -> Iterator[Followed]:
    with RedisServer(tmp_path / "redis") as server:
        place = Place(state_dir, {"SKILLFLEET_REDIS_URL": server.url})
        with running_fleet(place, workers=1):
            yield Followed(place, server)


def events_of(fleet: Fleet, name: str) -> list[Entry]:
    return [entry for entry in fleet.follow(name, live=False) if entry]


def test_a_follower_goes_on_after_redis_was_killed_and_sees_each_event_once(followed: Followed) -> None:
    seen: list[Entry] = []
    with Fleet(followed.place.settings, notice=followed.noted) as fleet:
        name = followed.submitted(fleet)
        for entry in fleet.follow(name):
            if entry is not None:
                seen.append(entry)
                if entry.type == "output" and not followed.notices:
                    followed.kill()
            elif len(followed.notices) == 1:
                followed.mend()
        whole = events_of(fleet, name)
    followed.check_notices()
    events = [entry for entry in seen if not entry.live]
    assert [entry.seq for entry in events] == list(range(1, len(events) + 1))
    assert [(entry.seq, entry.type, entry.data) for entry in events] == [
        (entry.seq, entry.type, entry.data) for entry in whole
    ]
    assert events[-1].data["answer"] == HELD_ANSWER
    first = next(entry for entry in seen if entry.type == "output")
    assert first.data == {"key": "1.0", "stream": "stdout", "text": "holding\n", "skipped": 0}


def test_who_waits_for_the_result_gets_it_after_redis_was_killed(followed: Followed) -> None:
    def noted(notice: str) -> None:
        followed.noted(notice)
        if len(followed.notices) == 1:
            followed.mend()

    with Fleet(followed.place.settings, notice=noted) as fleet, ThreadPoolExecutor(1) as threads:
        name = followed.submitted(fleet)
        killing = threads.submit(followed.kill)
        report = fleet.result(name)
        killing.result()
    followed.check_notices()
    assert (report.status, report.answer) == ("completed", HELD_ANSWER)


def test_a_follower_that_comes_back_at_any_entry_sees_each_once_and_in_order(followed: Followed) -> None:
    with Fleet(followed.place.settings) as fleet:
        name = followed.submitted(fleet)
        whole: list[Entry] = []
        for entry in filter(None, fleet.follow(name)):
            whole.append(entry)
            if entry.type == "output":
                followed.held.let_go()
        assert "output" in [entry.type for entry in whole]
        for cut, entry in enumerate(whole, start=1):
            assert list(islice(fleet.follow(name, entry.cursor), len(whole))) == whole[cut:]


def test_a_follower_of_up_goes_on_after_its_private_redis_was_killed(place: Place) -> None:
    held = Held()
    model = place.script([holding(held, "a")], "${a.stdout}")
    with up(place, workers=1) as fleet:
        name = fleet.submit("Wait.", model=model)
        events: list[Entry] = []
        for entry in fleet.follow(name):
            if entry is None or entry.live:
                continue
            events.append(entry)
            if entry.type == "started":
                assert started_script(held).is_running()
                end_redis(place)
                wait_for(lambda: place.commands("redis-server") or fleet.look_after(), "redis is started again")
                held.let_go()
        assert [entry.seq for entry in events] == list(range(1, len(events) + 1))
        assert events[-1].data["answer"] == HELD_ANSWER


def end_redis(place: Place) -> None:
    (server,) = place.commands("redis-server")
    assert server.is_running()
    server.kill()
    psutil.wait_procs([server], 10)


def test_a_lone_submit_goes_on_after_its_redis_was_killed_and_says_so_once_at_most(place: Place) -> None:
    held = Held()
    submit = place.start("submit", "--model", place.script([holding(held, "a")], "${a.stdout}"), "Wait.")
    assert started_script(held).is_running()
    end_redis(place)
    wait_for(lambda: place.commands("redis-server"), "redis is started again")
    held.let_go()
    answer, _ = submit.communicate(timeout=90)
    assert (submit.returncode, answer) == (0, f"{HELD_ANSWER}\n")
    told = [line.partition(" (")[0].partition(" after")[0] for line in place.log("submit").splitlines()]
    # Nothing, when it was just looking after redis.
    assert told in ([], ["skillfleet: redis is away", "skillfleet: redis is back"])
    assert not place.living()


def test_a_redis_that_has_lost_the_conversation_is_not_waited_for(followed: Followed) -> None:
    followed.redis.folder.joinpath("lost").mkdir()
    with followed.place.fleet() as fleet:
        name = followed.submitted(fleet)
    follower = following(followed, name)
    followed.kill()
    for path in followed.redis.folder.glob("appendonly*"):
        path.rename(followed.redis.folder / "lost" / path.name)
    followed.redis.start()
    assert ended(follower) == 2
    assert "no conversation" in followed.place.log("follow")


def following(followed: Followed, name: str) -> "subprocess.Popen[str]":
    follower = followed.place.start("follow", name)
    wait_for(lambda: "run_python_script" in followed.place.log("follow"), "it follows")
    return follower


def ended(process: "subprocess.Popen[str]") -> int:
    wait_for(lambda: process.poll() is not None, "it has ended")
    with process:
        return process.returncode


def test_an_interrupt_ends_a_follower_that_waits_for_redis(followed: Followed) -> None:
    with followed.place.fleet() as fleet:
        name = followed.submitted(fleet)
    follower = following(followed, name)
    followed.kill()
    wait_for(lambda: "redis is away" in followed.place.log("follow"), "it says so")
    follower.send_signal(signal.SIGINT)
    assert ended(follower) == 130
    followed.mend()
