"""What is archived, on both databases: all of it, once, whatever was away meanwhile."""

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from tests.conformance.ledgers import RedisWorld
from tests.conversation_steps import make_spec
from tests.orchestrator.histories import (
    FLEET,
    begun,
    counted,
    gone_on,
    lived,
    rows,
    settings_of,
    states,
    told,
    written,
)

from skillfleet.history.archiver import LATEST_TRY_S, Archiver, catch_up
from skillfleet.history.asked import Asked
from skillfleet.history.database import History, open_history
from skillfleet.history.reader import Reader
from skillfleet.history.tables import conversations, turns
from skillfleet.history.unarchived import Unarchived
from skillfleet_workers.wire import keys
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.contract import RUN_PYTHON

UNARCHIVED, UNARCHIVABLE = keys.FleetKeys(FLEET).unarchived, keys.FleetKeys(FLEET).unarchivable


@pytest.fixture
def world(redis_urls: RedisUrls) -> RedisWorld:
    return RedisWorld(redis_urls)


@pytest.fixture
def history(redis_urls: RedisUrls, history_url: str, tmp_path: Path) -> Iterator[History]:
    opened = open_history(settings_of(redis_urls, history_url, tmp_path))
    yield opened
    opened.close()


@pytest.fixture
def archiver(world: RedisWorld, history: History) -> Archiver:
    return Archiver(history, Unarchived(world.client, FLEET))


def waiting(world: RedisWorld) -> list[str]:
    return cast(list[str], world.client.zrange(UNARCHIVED, 0, -1))


def test_what_has_ended_is_archived_whole_and_looked_at_no_more(
    world: RedisWorld, archiver: Archiver, history: History
) -> None:
    lived(world, "c1", calls=2)
    assert archiver.look() == 1
    assert waiting(world) == []
    (row,) = rows(history, conversations)
    assert (row["agent_id"], row["state"], row["status"], row["answer"]) == ("c1", "completed", "completed", "42")
    assert (row["prompt"], row["turns"], row["input_tokens"]) == ("What is 6 * 7?", 2, 10)
    assert row["created_at"] <= row["started_at"] <= row["completed_at"]
    assert [turn["turn"] for turn in rows(history, turns)] == [1, 2]
    assert written(history) == told(world, "c1")
    assert {one.result and one.result["stdout"] for one in written(history).values()} == {"42\n"}
    assert counted(history) == 2


def test_what_is_open_is_archived_as_far_as_it_is_and_gone_on_with(
    world: RedisWorld, archiver: Archiver, history: History
) -> None:
    begun(world, "c1")
    assert archiver.catch_up() == 1
    assert archiver.catch_up() == 0
    (row,) = rows(history, conversations)
    assert (row["state"], row["completed_at"], waiting(world)) == ("running", None, ["c1"])
    assert [one.status for one in written(history).values()] == ["pending"]
    assert counted(history) == 0
    gone_on(world, "c1")
    assert archiver.catch_up() == 1
    assert (states(history), waiting(world)) == ({"c1": "completed"}, [])
    assert written(history) == told(world, "c1")
    assert counted(history) == 1


def test_what_rests_is_left_alone_for_a_while(world: RedisWorld, archiver: Archiver) -> None:
    begun(world, "c1")
    assert [archiver.look(), archiver.look()] == [1, 0]


def test_one_that_died_between_writing_and_forgetting_leaves_nothing_twice(
    world: RedisWorld, archiver: Archiver, history: History
) -> None:
    lived(world, "c1")
    archiver.catch_up()
    world.client.zadd(UNARCHIVED, {"c1": 1})
    assert archiver.catch_up() == 0
    assert (waiting(world), counted(history)) == ([], 1)


def test_a_long_history_is_read_in_pages(world: RedisWorld, history: History) -> None:
    lived(world, "c1", calls=5)
    assert Archiver(history, Unarchived(world.client, FLEET, page=3)).catch_up() == 1
    assert written(history) == told(world, "c1")
    assert (counted(history), waiting(world)) == (5, [])


def test_two_archivers_at_once_do_each_other_no_harm(
    world: RedisWorld, history: History, redis_urls: RedisUrls, history_url: str, tmp_path: Path
) -> None:
    names = [f"c{number}" for number in range(12)]
    for name in names:
        begun(world, name)
    settings, going = settings_of(redis_urls, history_url, tmp_path), threading.Event()

    def archive_on() -> None:
        with redis_urls.client() as client:
            while not going.is_set():
                catch_up(settings, client)
            catch_up(settings, client)

    threads = [threading.Thread(target=archive_on) for _ in range(2)]
    for thread in threads:
        thread.start()
    for name in names:
        gone_on(world, name)
    going.set()
    for thread in threads:
        thread.join()
    assert states(history) == dict.fromkeys(names, "completed")
    assert written(history) == told(world, *names)
    assert (counted(history), waiting(world)) == (12, [])


def test_what_cannot_be_read_or_is_gone_keeps_nobody_else_from_being_archived(
    world: RedisWorld, archiver: Archiver, history: History
) -> None:
    for name in ("damaged", "gone", "sound"):
        lived(world, name)
    world.client.hset(keys.state("damaged"), "state", "{")
    world.client.delete(keys.state("gone"), keys.events("gone"))
    archiver.look()
    assert (states(history), waiting(world)) == ({"sound": "completed"}, ["damaged"])


def test_what_cannot_be_archived_is_told_to_who_asks_until_it_can(
    world: RedisWorld, archiver: Archiver, history_url: str, redis_urls: RedisUrls, tmp_path: Path
) -> None:
    lived(world, "damaged")
    whole = str(world.client.hget(keys.state("damaged"), "state"))
    world.client.hset(keys.state("damaged"), "state", "{")
    archiver.look()
    told: list[str] = []
    settings = settings_of(redis_urls, history_url, tmp_path)
    for archives in (True, False):
        Reader(settings, world.client, told.append, archives).executions(Asked())
    for line in told:
        assert re.match(r"a conversation cannot be archived: damaged, since \S+Z: JSONDecodeError: .*$", line)
    assert len(told) == 2
    world.client.hset(keys.state("damaged"), "state", whole)
    assert len(Reader(settings, world.client, told.append).executions(Asked())) == 1
    assert len(told) == 2


def test_who_asks_an_archiver_that_is_behind_is_told_so(
    world: RedisWorld, history_url: str, redis_urls: RedisUrls, tmp_path: Path
) -> None:
    lived(world, "new")
    told: list[str] = []
    reader = Reader(settings_of(redis_urls, history_url, tmp_path), world.client, told.append, archives=False)
    reader.executions(Asked())
    assert told == []
    world.client.zadd(keys.FleetKeys(FLEET).unarchived, {"new": 1}, xx=True)
    assert reader.executions(Asked()) == ()
    assert told == ["the archiver is behind: the newest of a conversation is missing here; ask again in a while"]


def test_what_is_tried_in_vain_is_tried_later_and_later(world: RedisWorld, archiver: Archiver) -> None:
    lived(world, "damaged")
    world.client.hset(keys.state("damaged"), "state", "{")
    archiver.look()
    failed_for_s = 7200
    since = json.loads(str(world.client.hget(UNARCHIVABLE, "damaged")))["since"] - failed_for_s
    world.client.hset(UNARCHIVABLE, "damaged", json.dumps({"since": since, "why": ""}))
    archiver.catch_up()
    now_ms = world.client.time()[0] * 1000
    assert cast(float, world.client.zscore(UNARCHIVED, "damaged")) > now_ms + LATEST_TRY_S * 1000 / 2
    assert archiver.unarchived.failing()[0].since == since


def test_any_text_is_kept_by_both_databases(world: RedisWorld, archiver: Archiver, history: History) -> None:
    begun(world, "c1")
    odd = "nul \0, half \ud83d, whole \U0001f600, \\u0000"
    event = {"role": "assistant", "content": odd, "numbers": [1e999, 10**400]}
    world.client.xadd(keys.events("c1"), {"seq": 99, "at": 1, "type": "message", "data": json.dumps(event)})
    archiver.catch_up()
    (turn,) = rows(history, turns)
    assert turn["message"]["content"] == "nul \ufffd, half \ufffd, whole \U0001f600, \\u0000"
    assert turn["message"]["numbers"][0] is None


def test_names_that_no_database_can_keep_apart_are_counted_together(
    world: RedisWorld, archiver: Archiver, history: History
) -> None:
    for name, skill in (("c1", "x\0"), ("c2", "x\ud83d"), ("c3", "x\0")):
        world.ledger.submit(make_spec(name))
        called = {"key": "1.0", "name": RUN_PYTHON.tool, "skill": skill}
        for kind, data in (("call", called), ("result", {"key": "1.0", "status": "succeeded"})):
            world.client.xadd(keys.events(name), {"seq": 9, "at": 1, "type": kind, "data": json.dumps(data)})
    archiver.look()
    assert ({one.skill_name for one in written(history).values()}, counted(history)) == ({"x\ufffd"}, 3)
