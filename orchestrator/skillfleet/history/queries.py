"""What the history tells of single executions and conversations, the newest first."""

from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, select

from .asked import Asked
from .records import SkillExecution
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


def _fitting(asked: Asked) -> list[ColumnElement[bool]]:
    wanted = {
        told.c.agent_id: asked.agent,
        told.c.skill_name: asked.skill,
        told.c.skill_version: asked.version,
        told.c.status: asked.status,
        told.c.tenant: asked.tenant,
    }
    fitting = [column == value for column, value in wanted.items() if value is not None]
    if asked.since:
        fitting.append(told.c.started_at >= asked.since)
    if asked.until:
        fitting.append(told.c.started_at < asked.until)
    return fitting
