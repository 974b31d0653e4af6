"""The history's database: where it is, opened, and its errors in words."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, NoSuchModuleError, OperationalError

from skillfleet_workers.wire.connection import SettingsError

from ..errors import HistoryError
from ..settings import OrchestratorSettings
from .columns import stored_json
from .migrating import is_current, migrate

BUSY_S = 30
"""SQLite lets one write at a time: the others wait so long for it."""

CONNECT_S = 10
_DRIVERS = {"postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
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
    if url.drivername not in _KNOWN or (url.drivername == "sqlite" and url.database in (None, "", ":memory:")):
        raise SettingsError(f"SKILLFLEET_HISTORY_URL: {url.drivername!r} is no history's; {_FORMS}")
    return url


@dataclass(frozen=True, slots=True)
class History:
    """`where`: for people and logs, without a secret. Each use of it raises HistoryError when the database cannot be
    reached (any more)."""

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
        """Raises HistoryError when it cannot be reached."""
        with self.reading() as connection:
            connection.execute(text("SELECT 1"))

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
        with _in_words(history.where, (DBAPIError,)):
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
    where = url.render_as_string(hide_password=True)
    lite = url.drivername == "sqlite"
    if lite:
        _make_file(Path(str(url.database)), where)
    waits: dict[str, Any] = {"timeout": BUSY_S} if lite else {"connect_timeout": CONNECT_S}
    try:
        engine = create_engine(url, json_serializer=stored_json, pool_pre_ping=not lite, connect_args=waits)
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
    connection.execute("PRAGMA journal_mode = WAL")
    # What was archived is forgotten elsewhere: it has to be on disk.
    connection.execute("PRAGMA synchronous = FULL")


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def _in_words(where: str, away: tuple[type[DBAPIError], ...] = (OperationalError, InterfaceError)) -> Iterator[None]:
    try:
        yield
    except away as error:
        first = str(error.orig).strip().partition("\n")[0]
        raise HistoryError(f"cannot use the history at {where}: {first}") from None
