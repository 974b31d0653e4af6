"""Kinds of columns that both databases keep alike."""

import json
import re
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, DateTime, Dialect, Text, TypeDecorator
from sqlalchemy.dialects.postgresql import JSONB

from .texts import REPLACED, stored_text

_NUL_ESCAPED = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")

# None is NULL, and not the JSON text `null`: a query must not need to know both.
Json = JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")


def stored_json(value: Any) -> str:
    """As `stored_text`; nor is there a number in JSON that is infinite, or none."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        finite = json.loads(json.dumps(value), parse_constant=lambda _: None)
        text = json.dumps(finite, ensure_ascii=False)
    return stored_text(_NUL_ESCAPED.sub(rf"\1{REPLACED}", text))


class Words(TypeDecorator[str]):
    """Any text."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else stored_text(value)


class UtcTime(TypeDecorator[datetime]):
    """A moment, with its microseconds; read back with its time zone, UTC. SQLite keeps no time zones, and sorts its
    times as text."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        utc: datetime = value.astimezone(UTC)
        return utc if dialect.name == "postgresql" else utc.replace(tzinfo=None)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        at: datetime = value
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
