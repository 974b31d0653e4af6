"""The history's database: made, migrated and refused, on both kinds."""

import sqlite3
import threading
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from skillfleet.errors import HistoryError
from skillfleet.history.database import History, open_history, url_of
from skillfleet.history.tables import metadata, turns
from skillfleet.settings import OrchestratorSettings
from skillfleet_workers.wire.connection import SettingsError, load_settings


def settings(url: str | None, folder: Path) -> OrchestratorSettings:
    return load_settings(OrchestratorSettings, history_url=url, state_dir=folder)


def test_the_migrations_make_the_tables_as_they_are_written(history_url: str, tmp_path: Path) -> None:
    history = open_history(settings(history_url, tmp_path))
    with history.reading() as connection:
        made = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(made, metadata) == []
    history.close()


def test_those_who_open_it_first_at_once_do_each_other_no_harm(history_url: str, tmp_path: Path) -> None:
    opened: list[History] = []
    together = threading.Barrier(6)

    def first() -> None:
        together.wait()
        opened.append(open_history(settings(history_url, tmp_path)))

    threads = [threading.Thread(target=first) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 6
    for history in opened:
        history.close()


def test_a_history_of_a_later_release_is_refused(history_url: str, tmp_path: Path) -> None:
    history = open_history(settings(history_url, tmp_path))
    with history.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    history.close()
    with pytest.raises(SettingsError, match=r"later release .* version 9999.* upgrade skillfleet"):
        open_history(settings(history_url, tmp_path))


def test_by_default_it_is_a_file_of_the_state_folder_that_only_we_may_read(tmp_path: Path) -> None:
    history = open_history(settings(None, tmp_path / "state"))
    history.close()
    file = tmp_path / "state" / "history.db"
    assert file.stat().st_mode & 0o777 == 0o600
    assert sqlite3.connect(file).execute("PRAGMA journal_mode").fetchone() == ("wal",)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("nonsense", "is no URL"),
        ("mysql://root:hidden@host/db", "is no history's"),
        ("sqlite://", "is no history's"),
        ("postgresql://user:hidden@host:port/db", "is no URL"),
        ("postgresql://user:a@hidden@host/db", "more than one @"),
        ("off", "is off"),
    ],
)
def test_what_is_no_database_of_a_history_is_refused_without_its_password(
    url: str, told: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match=told) as refused:
        url_of(settings(url, tmp_path))
    assert "SKILLFLEET_HISTORY_URL" in str(refused.value)
    assert "hidden" not in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user:hidden@127.0.0.1:1/db",
        "postgresql://127.0.0.1:1/db?user=u&password=hidden&sslpassword=hidden",
        "sqlite:////proc/none/history.db",
    ],
)
def test_one_that_cannot_be_reached_is_told_in_one_line_without_its_password(url: str, tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="cannot use the history at") as refused:
        open_history(settings(url, tmp_path))
    assert "hidden" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_it_refuses_to_write_is_not_told(history_url: str, tmp_path: Path) -> None:
    history = open_history(settings(history_url, tmp_path))
    with pytest.raises(DBAPIError) as refused, history.writing() as connection:
        connection.execute(turns.insert(), [{"agent_id": "a-prompt", "turn": 1}])
    history.close()
    assert "a-prompt" not in str(refused.value).partition("DETAIL")[0]


def test_a_file_that_is_no_database_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("no database " * 100)
    with pytest.raises(HistoryError, match="file is not a database"):
        open_history(settings(f"sqlite:///{tmp_path / 'notes'}", tmp_path))


@pytest.mark.parametrize("form", ["postgresql://u@h/d", "postgres://u@h/d", "postgresql+psycopg://u@h/d"])
def test_a_plain_postgresql_url_is_taken_as_psycopgs(form: str, tmp_path: Path) -> None:
    assert url_of(settings(form, tmp_path)).drivername == "postgresql+psycopg"
