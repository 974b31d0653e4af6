"""What is read of a conversation, written: all of one reading in one transaction, with the cursor up to which it was
read. Whoever reads on begins there, so that nothing is written or counted twice."""

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection, Select, func, select

from ..conversations.models import Conversation
from .asked_skill import asked_execution
from .counting import count
from .database import History
from .reading import Records, read
from .records import ExecutionStatus, SkillExecution
from .rows import conversation_row, execution_row, message_row, turn_of, turn_row
from .tables import conversations, executions, messages, turns
from .unarchived import News
from .upserts import upsert

Row = dict[str, Any]


def archive(history: History, name: str, news: Callable[[str, str], News | None]) -> News | None:
    """The next page of what is new of a conversation; None: it is gone. `news`: what has happened to it beyond a
    cursor, '' the beginning."""
    with history.writing() as connection:
        _be_alone(connection, name)
        known = _known(connection, name)
        found = news(name, known.get("archived_to", ""))
        if found is None or not found.entries:
            return found
        before = _before(connection, name) if known else Records()
        told = read(found.conversation.spec, found.entries, before)
        _write(connection, found, told, before, known)
        return found


def cursors(connection: Connection, names: Sequence[str]) -> dict[str, tuple[str, bool]]:
    """Up to where these are archived, and whether as ended; those of which there is anything yet."""
    known = select(conversations.c.agent_id, conversations.c.archived_to, conversations.c.completed_at)
    rows = connection.execute(known.where(conversations.c.agent_id.in_(names)))
    return {name: (cursor, ended is not None) for name, cursor, ended in rows}


def _be_alone(connection: Connection, name: str) -> None:
    """SQLite has one writer at a time anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(name, 0))))


def _known(connection: Connection, name: str) -> Row:
    wanted = select(conversations.c.archived_to, conversations.c.started_at, conversations.c.completed_at)
    return _first(connection, wanted.where(conversations.c.agent_id == name))


def _first(connection: Connection, query: Select[Any]) -> Row:
    """Nothing: there is none."""
    return dict(connection.execute(query).mappings().first() or {})


def _before(connection: Connection, name: str) -> Records:
    """The last turn, its executions, and those that are still open."""
    newest = select(turns).where(turns.c.agent_id == name).order_by(turns.c.turn.desc()).limit(1)
    row = _first(connection, newest)
    if not row:
        return Records()
    turn = turn_of(row)
    mine = executions.c.call.like(f"{turn.turn}.%") | (executions.c.status == ExecutionStatus.PENDING)
    found = connection.execute(select(executions).where(executions.c.agent_id == name, mine)).mappings()
    known = [SkillExecution.model_construct(**_fields(dict(one))) for one in found]
    return Records({turn.turn: turn}, {one.call: one for one in known})


def _fields(row: Row) -> Row:
    return {**{name: row[name] for name in SkillExecution.model_fields}, "status": ExecutionStatus(row["status"])}


def _write(connection: Connection, found: News, told: Records, before: Records, known: Row) -> None:
    conversation = found.conversation
    row = conversation_row(conversation, found.entries[-1].cursor)
    row["started_at"] = row["started_at"] or known.get("started_at") or _began(told)
    ended = any(entry.type == "ended" for entry in found.entries)
    if not ended:
        row["completed_at"] = known.get("completed_at")  # its position may be ahead of the events that were read
    upsert(connection, conversations, [row])
    upsert(connection, turns, [turn_row(conversation.id, turn) for turn in told.turns.values()])
    ours = [execution_row(one) for one in told.executions.values()]
    upsert(connection, executions, ours)
    asked = _asked(connection, conversation) if ended else []
    upsert(connection, executions, asked)
    sent = sorted(told.messages.values(), key=lambda message: message.message_id)
    upsert(connection, messages, [message_row(message, conversation) for message in sent])
    count(connection, asked + [one for one in ours if _has_ended_now(one, before.executions.get(one["call"]))])


def _asked(connection: Connection, conversation: Conversation) -> list[Row]:
    """The run of a skill without a model, where it is none of its calls: it has no script, or that never began."""
    agent = conversation.spec.agent
    if agent is None or not agent.steps:
        return []
    mine = select(executions).where(executions.c.agent_id == conversation.id).order_by(executions.c.started_at)
    runs = [SkillExecution.model_construct(**_fields(dict(row))) for row in connection.execute(mine).mappings()]
    asked = asked_execution(conversation, agent, runs)
    return [] if asked.call else [execution_row(asked)]


def _began(told: Records) -> Any:
    return min((turn.started_at for turn in told.turns.values()), default=None)


def _has_ended_now(row: Row, before: SkillExecution | None) -> bool:
    was_open = before is None or before.status == ExecutionStatus.PENDING
    return was_open and row["status"] != ExecutionStatus.PENDING
