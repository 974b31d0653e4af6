"""The archiver while its database, or redis, is away: it waits, loses nothing, and says so once."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, text
from tests.conformance.ledgers import TTL_S, RedisWorld
from tests.orchestrator.histories import FLEET, counted, lived, settings_of, states, told, written
from tests.postgres_server import Postgres
from tests.system.fleet import wait_for
from tests.system.servers import RedisServer

from skillfleet.errors import HistoryError
from skillfleet.history.archiver import Archiver, run_archiver
from skillfleet.history.asked import Asked
from skillfleet.history.database import open_history
from skillfleet.history.reader import Reader
from skillfleet.history.unarchived import A_DAY_S, Unarchived
from skillfleet.settings import OrchestratorSettings
from skillfleet_workers.wire import keys
from skillfleet_workers.wire.connection import RedisUrls

UNARCHIVED = keys.FleetKeys(FLEET).unarchived


@contextmanager
def archiving(settings: OrchestratorSettings) -> Iterator[None]:
    stop = threading.Event()
    with RedisUrls.of(settings).client() as client:
        thread = threading.Thread(target=run_archiver, args=(settings, client, stop))
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


def all_archived(world: RedisWorld) -> bool:
    return world.client.zcard(UNARCHIVED) == 0


def test_what_happens_while_the_database_is_away_is_archived_once_it_is_back(
    redis_urls: RedisUrls, postgres_server: Postgres, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    world, settings = RedisWorld(redis_urls), settings_of(redis_urls, postgres_server.new_database(), tmp_path)
    postgres_server.kill()
    lived(world, "before")
    with archiving(settings):
        wait_for(lambda: "the history is away" in caplog.text, "it says that the history is away")
        wait_for(lambda: world.client.ttl(keys.events("before")) > TTL_S, "what would expire is kept for longer")
        postgres_server.start()
        wait_for(lambda: all_archived(world), "what happened meanwhile is archived")
        postgres_server.kill()
        lived(world, "later")
        wait_for(lambda: caplog.text.count("the history is away") == 2, "it says so again")
        postgres_server.start()
        wait_for(lambda: all_archived(world), "that too")
    assert caplog.text.count("the history is back") == 2
    history = open_history(settings)
    assert states(history) == {"before": "completed", "later": "completed"}
    assert written(history) == told(world, "before", "later")
    assert counted(history) == 2
    history.close()


def test_it_waits_for_redis_too(history_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with RedisServer(tmp_path / "redis") as server:
        urls = RedisUrls(server.url)
        settings = settings_of(urls, history_url, tmp_path)
        with archiving(settings):
            lived(RedisWorld(urls), "before")
            wait_for(lambda: all_archived(RedisWorld(urls)), "it archives")
            server.kill()
            wait_for(lambda: "redis is away" in caplog.text, "it says that redis is away")
            server.start()
            lived(RedisWorld(urls), "later")
            wait_for(lambda: all_archived(RedisWorld(urls)), "it goes on")
        history = open_history(settings)
        assert states(history) == {"before": "completed", "later": "completed"}
        history.close()


def test_a_database_that_refuses_one_conversation_takes_the_others(
    redis_urls: RedisUrls, history_url: str, tmp_path: Path
) -> None:
    world, history = RedisWorld(redis_urls), open_history(settings_of(redis_urls, history_url, tmp_path))
    lived(world, "refused")
    lived(world, "taken")
    with history.writing() as connection:
        connection.execute(text("CREATE UNIQUE INDEX one ON conversations (answer, agent_id)"))
        connection.execute(text("CREATE UNIQUE INDEX another ON conversations (prompt)"))
    Archiver(history, Unarchived(world.client, FLEET)).look()
    assert list(states(history)) == ["refused"] or list(states(history)) == ["taken"]
    assert world.client.zcard(UNARCHIVED) == 1
    history.close()


def test_a_database_that_takes_nothing_is_away(redis_urls: RedisUrls, history_url: str, tmp_path: Path) -> None:
    world, history = RedisWorld(redis_urls), open_history(settings_of(redis_urls, history_url, tmp_path))
    lived(world, "c1")
    readonly = "SET default_transaction_read_only = on" if history_url.startswith("p") else "PRAGMA query_only = 1"
    history.close()

    @event.listens_for(history.engine, "connect")
    def take_nothing(connection: Any, _: object) -> None:
        connection.execute(readonly)
        connection.commit()

    with pytest.raises(HistoryError, match=r"read.?only"):
        Archiver(history, Unarchived(world.client, FLEET)).look()
    assert world.client.zcard(UNARCHIVED) == 1
    history.close()


def test_a_database_that_takes_nothing_still_tells_what_it_has(
    redis_urls: RedisUrls, postgres_server: Postgres, tmp_path: Path
) -> None:
    world, url = RedisWorld(redis_urls), postgres_server.new_database()
    told: list[str] = []
    lived(world, "before")
    assert len(Reader(settings_of(redis_urls, url, tmp_path), world.client, told.append).executions(Asked())) == 1
    lived(world, "later")
    settings = settings_of(redis_urls, f"{url}&options=-c%20default_transaction_read_only%3Don", tmp_path)
    assert told == []
    assert len(Reader(settings, world.client, told.append).executions(Asked())) == 1
    (line,) = told
    assert line.endswith("read-only transaction: what redis holds and the history does not is missing here")


def test_nothing_is_written_into_a_file_that_was_removed(redis_urls: RedisUrls, tmp_path: Path) -> None:
    world, settings = RedisWorld(redis_urls), settings_of(redis_urls, f"sqlite:///{tmp_path / 'h.db'}", tmp_path)
    history = open_history(settings)
    archiver = Archiver(history, Unarchived(world.client, FLEET))
    lived(world, "c1")
    for file in tmp_path.glob("h.db*"):
        file.unlink()
    with pytest.raises(HistoryError, match="was removed"):
        archiver.look()
    open_history(settings).close()
    assert archiver.look() == 1
    history.close()
    again = open_history(settings)
    assert states(again) == {"c1": "completed"}
    again.close()


def test_what_has_long_to_live_is_not_kept_for_longer(redis_urls: RedisUrls) -> None:
    world = RedisWorld(redis_urls)
    for name in ("soon", "late"):
        lived(world, name)
    world.client.expire(keys.state("late"), 3 * A_DAY_S)
    Unarchived(world.client, FLEET).keep(["soon", "late", "gone"])
    assert world.client.ttl(keys.state("soon")) > A_DAY_S
    assert world.client.ttl(keys.events("soon")) > A_DAY_S
    assert world.client.ttl(keys.events("late")) <= TTL_S


def test_what_ended_long_ago_is_removed_and_is_not_archived_again(
    redis_urls: RedisUrls, history_url: str, tmp_path: Path
) -> None:
    world, settings = RedisWorld(redis_urls), settings_of(redis_urls, history_url, tmp_path, days=1)
    history = open_history(settings)
    for name in ("old", "new"):
        lived(world, name)
    Archiver(history, Unarchived(world.client, FLEET)).catch_up()
    with history.writing() as connection:
        connection.execute(text("UPDATE conversations SET completed_at = '2001-01-01' WHERE agent_id = 'old'"))
    with archiving(settings):
        wait_for(lambda: states(history) == {"new": "completed"}, "what is too old is removed")
    assert len(written(history)) == 1
    history.close()


def test_a_history_that_is_away_is_told_to_who_only_reads(
    redis_urls: RedisUrls, postgres_server: Postgres, tmp_path: Path
) -> None:
    settings = settings_of(redis_urls, postgres_server.new_database(), tmp_path)
    history = open_history(settings)
    postgres_server.kill()
    with pytest.raises(HistoryError, match="cannot use the history at"):
        history.ping()
    postgres_server.start()
    history.ping()
    history.close()
