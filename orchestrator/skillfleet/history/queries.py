"""What the history tells of single executions and conversations, the newest first."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, select

from .answers import ArchivedConversation
from .asked import Asked
from .records import SkillExecution
from .tables import conversations as talks
from .tables import executions as told


def executions(connection: Connection, asked: Asked) -> tuple[SkillExecution, ...]:
    return tuple(SkillExecution.model_validate(row) for row in connection.execute(executions_query(asked)).mappings())


def executions_query(asked: Asked) -> Select[Any]:
    return (
        select(*(told.c[name] for name in SkillExecution.model_fields))
        .where(*_fitting(asked))
        .order_by(told.c.started_at.desc(), told.c.execution_id.desc())
        .limit(asked.limit)
    )


def execution(connection: Connection, execution_id: str) -> SkillExecution | None:
    found = connection.execute(select(told).where(told.c.execution_id == execution_id)).mappings().first()
    return None if found is None else SkillExecution.model_validate(found)


def conversations(connection: Connection, asked: Asked) -> tuple[ArchivedConversation, ...]:
    """Only the filters agent, tenant, since and until (of their creation) and limit are heeded."""
    rows = connection.execute(conversations_query(asked)).mappings()
    return tuple(ArchivedConversation.model_validate(row) for row in rows)


def conversations_query(asked: Asked) -> Select[Any]:
    wanted: dict[ColumnElement[Any], Any] = {talks.c.agent_id: asked.agent, talks.c.tenant: asked.tenant}
    return (
        select(*(talks.c[name] for name in ArchivedConversation.model_fields))
        .where(*_equal(wanted), *_between(talks.c.created_at, asked))
        .order_by(talks.c.created_at.desc(), talks.c.agent_id.desc())
        .limit(asked.limit)
    )


def _fitting(asked: Asked) -> list[ColumnElement[bool]]:
    wanted: dict[ColumnElement[Any], Any] = {
        told.c.agent_id: asked.agent,
        told.c.skill_name: asked.skill,
        told.c.skill_version: asked.version,
        told.c.status: asked.status,
        told.c.tenant: asked.tenant,
    }
    return [*_equal(wanted), *_between(told.c.started_at, asked)]


def _equal(wanted: Mapping[ColumnElement[Any], Any]) -> list[ColumnElement[bool]]:
    return [column == value for column, value in wanted.items() if value is not None]


def _between(column: ColumnElement[Any], asked: Asked) -> list[ColumnElement[bool]]:
    since = [] if asked.since is None else [column >= asked.since]
    return since if asked.until is None else [*since, column < asked.until]
