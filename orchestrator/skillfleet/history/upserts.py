"""Rows written, in place of those with the same key."""

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite


def upsert(connection: Connection, table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
    """Each has the same columns."""
    given = list(rows)
    if not given:
        return
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    statement = insert(table)
    key = [column.name for column in table.primary_key]
    changed = {name: statement.excluded[name] for name in given[0] if name not in key}
    connection.execute(statement.on_conflict_do_update(index_elements=key, set_=changed), given)
