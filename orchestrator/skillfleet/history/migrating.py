"""Bringing the tables to what this release knows. Alembic is imported where there is something to do."""

from importlib import import_module
from pathlib import Path

from sqlalchemy import Connection, inspect, text

from skillfleet_workers.wire.connection import SettingsError

MIGRATIONS = Path(__file__).parent / "migrations"
VERSIONS = sorted(path.stem[:4] for path in (MIGRATIONS / "versions").glob("[0-9]*.py"))
_LOCK = 7_103_455_918
"""Of PostgreSQL, for who migrates: any number that nobody else has."""


def version_of(connection: Connection) -> str | None:
    """Of the tables; None: there are none yet."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return found


def is_current(connection: Connection) -> bool:
    """
    Raises:
        SettingsError: a later release has written it.
    """
    version = version_of(connection)
    if version is not None and version not in VERSIONS:
        raise SettingsError(
            f"SKILLFLEET_HISTORY_URL: this history is of a later release (its tables are version {version}, this one "
            f"knows {VERSIONS[-1]}); upgrade skillfleet, or name another history"
        )
    return version == VERSIONS[-1]


def migrate(connection: Connection) -> None:
    """In the transaction of the connection, which is a writing one: two that do so at once wait for each other.

    Raises:
        SettingsError: as `is_current`.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    if is_current(connection):
        return
    config = import_module("alembic.config").Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    import_module("alembic.command").upgrade(config, "head")
