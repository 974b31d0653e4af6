"""The history's database: where it is, opened, and its errors in words."""

import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError, NoSuchModuleError

from skillfleet_workers.wire.connection import SettingsError

from ..errors import HistoryError
from ..settings import OrchestratorSettings
from .columns import stored_json
from .migrating import is_current, migrate

BUSY_S = 30
"""SQLite lets one write at a time: the others wait so long for it."""

CONNECT_S = 10
_DRIVERS = {"postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
_TOLD = ("host", "port")
"""What is told of what follows a `?`: any of the rest may be a secret."""

_KNOWN = ("sqlite", "postgresql+psycopg")
_FORMS = "write sqlite:///FILE, postgresql://USER:PASSWORD@HOST/DATABASE or off"


def url_of(settings: OrchestratorSettings) -> URL:
    """
    Raises:
        SettingsError: it is none, or there is to be no history.
    """
    if not settings.keeps_history:
        raise SettingsError("SKILLFLEET_HISTORY_URL: is off, so no history is kept; leave it out for the default")
    if settings.history_url is None:
        return URL.create("sqlite", database=str(settings.state_dir / "history.db"))
    try:
        url = make_url(settings.history_url.get_secret_value())
    except (ArgumentError, ValueError):  # its message would quote a password
        raise SettingsError(f"SKILLFLEET_HISTORY_URL: is no URL; {_FORMS}") from None
    url = url.set(drivername=_DRIVERS.get(url.drivername, url.drivername))
    if "@" in (url.host or ""):  # of a password that would be told as a part of its host
        raise SettingsError("SKILLFLEET_HISTORY_URL: has more than one @; write one in a password as %40")
    if url.drivername not in _KNOWN or (url.drivername == "sqlite" and url.database in (None, "", ":memory:")):
        raise SettingsError(f"SKILLFLEET_HISTORY_URL: {url.drivername!r} is no history's; {_FORMS}")
    return url


@dataclass(frozen=True, slots=True)
class History:
    """`where`: for people and logs, without a secret. Each use of it raises HistoryError when the database cannot be
    reached (any more), or does not do its work; a DBAPIError is about what it was given."""

    engine: Engine
    where: str

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with _in_words(self.where), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction."""
        with _in_words(self.where), self.engine.execution_options(writes=True).begin() as connection:
            yield connection

    def ping(self) -> None:
        """Raises HistoryError when it cannot be reached, or takes nothing."""
        with self.writing() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = version_num"))

    def close(self) -> None:
        self.engine.dispose()


def open_history(settings: OrchestratorSettings) -> History:
    """With its tables as this release has them; a file is made where there is none.

    Raises:
        SettingsError: the URL is none, its driver is missing, or a later release has written it.
        HistoryError: it cannot be reached.
    """
    history = connected(settings)
    try:
        with history.reading() as connection:
            current = is_current(connection)
        if not current:
            with history.writing() as connection:
                migrate(connection)
    except BaseException:
        history.close()
        raise
    return history


def connected(settings: OrchestratorSettings) -> History:
    """Before anybody has asked whether it is there. Raises: as `open_history`."""
    url = url_of(settings)
    told = {name: value for name, value in url.query.items() if name in _TOLD}
    where = url.set(query=told).render_as_string(hide_password=True)
    lite = url.drivername == "sqlite"
    if lite:
        _make_file(Path(str(url.database)), where)
    waits: dict[str, Any] = {"timeout": BUSY_S} if lite else {"connect_timeout": CONNECT_S}
    try:
        engine = create_engine(
            url, connect_args=waits, pool_pre_ping=not lite, json_serializer=stored_json, hide_parameters=True
        )
    except (ImportError, NoSuchModuleError):
        raise SettingsError(
            "SKILLFLEET_HISTORY_URL: the driver for PostgreSQL is missing; pip install 'skillfleet[postgres]'"
        ) from None
    except ArgumentError:
        raise SettingsError(f"SKILLFLEET_HISTORY_URL: is no URL; {_FORMS}") from None
    if lite:
        event.listen(engine, "connect", _prepare)
        event.listen(engine, "begin", _begin)
    return History(engine, where)


def _make_file(path: Path, where: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)  # what it holds is what people have asked
    except OSError as error:
        raise HistoryError(f"cannot use the history at {where}: {error.strerror}") from None


def _prepare(connection: Any, record: object) -> None:
    # Transactions are ours to begin: the driver's own begin too late to be the only writer.
    connection.isolation_level = None
    _write_ahead(connection)
    # What was archived is forgotten elsewhere: it has to be on disk.
    connection.execute("PRAGMA synchronous = FULL")


def _write_ahead(connection: Any) -> None:
    """Who first switches a file to it must be alone with it, and of two who wait for that both would wait in vain."""
    until = time.monotonic() + BUSY_S
    connection.execute("PRAGMA busy_timeout = 0")
    while not _switched(connection, until):
        time.sleep(random.uniform(0.001, 0.02))
    connection.execute(f"PRAGMA busy_timeout = {BUSY_S * 1000}")


def _switched(connection: Any, until: float) -> bool:
    try:
        connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
            raise
        return False
    return True


def _begin(connection: Connection) -> None:
    path = str(connection.engine.url.database)
    if connection.info.setdefault("file", _file(path)) != _file(path):
        connection.invalidate()
        raise HistoryError(f"cannot use the history at sqlite:///{path}: the file was removed, or is another")
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _file(path: str) -> int:
    try:
        return Path(path).stat().st_ino
    except OSError:
        return 0


@contextmanager
def _in_words(where: str) -> Iterator[None]:
    try:
        yield
    except (DataError, IntegrityError):
        raise
    except DBAPIError as error:
        first = str(error.orig).strip().partition("\n")[0]
        raise HistoryError(f"cannot use the history at {where}: {first}") from None
