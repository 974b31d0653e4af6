"""A history with executions that a test has made up."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from skillfleet.history.counting import count
from skillfleet.history.database import History, open_history
from skillfleet.history.records import execution_id
from skillfleet.history.tables import conversations, executions, messages, turns
from skillfleet.settings import OrchestratorSettings
from skillfleet_workers.wire.connection import load_settings

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


@contextmanager
def opened(url: str, folder: Path) -> Iterator[History]:
    history = open_history(load_settings(OrchestratorSettings, history_url=url, state_dir=folder))
    try:
        yield history
    finally:
        history.close()


def execution(number: int, **told: Any) -> dict[str, Any]:
    """A row: of success, in ten milliseconds, each a minute after the one before."""
    started = told.pop("started_at", NOON + timedelta(minutes=number))
    ms = told.pop("duration_ms", 10)
    failed = told.get("status", "success") != "success"
    row: dict[str, Any] = {
        "agent_id": "agent-1", "tenant": "acme", "call": f"{number}.0", "skill_name": "navigate",
        "skill_version": "1.0.0", "tool": "run_skill_script", "parameters": {"location": "kitchen"},
        "result": None if failed else {"at": number}, "error": "the door is shut" if failed else None,
        "status": "success", "started_at": started, "completed_at": started + timedelta(milliseconds=ms),
        "duration_ms": ms, "retry_count": 0, "worker": "w", "runtime": "warm", **told,
    }  # fmt: skip
    if row["status"] == "pending":
        row |= {"error": None, "completed_at": None, "duration_ms": None}
    return row | {"execution_id": execution_id(row["agent_id"], row["call"])}


def keep(history: History, rows: Iterable[Mapping[str, Any]]) -> None:
    """Written and counted, as the archiver does."""
    written = [dict(row) for row in rows]
    with history.writing() as connection:
        connection.execute(executions.insert(), written)
        count(connection, [row for row in written if row["status"] != "pending"])


def keep_conversation(history: History, name: str, ended: datetime | None, **told: Any) -> None:
    """With one turn and one message."""
    began = told.pop("created_at", NOON)
    row = {
        "agent_id": name, "name": "", "state": "completed", "status": "completed", "tenant": "acme", "model": "m",
        "skill_params": {}, "results": {}, "prompt": "Go.", "answer": "Gone.", "root_id": name, "depth": 0,
        "turns": 1, "input_tokens": 3, "output_tokens": 4, "created_at": began, "completed_at": ended, "metadata": {},
        "archived_to": "1-0", **told,
    }  # fmt: skip
    sent = {
        "message_id": execution_id(name, "m"), "root_id": row["root_id"], "tenant": "acme", "topic": "navigation.x",
        "sender_id": name, "message_type": "event", "payload": {}, "timestamp": began, "ttl": 60, "priority": 5,
    }  # fmt: skip
    with history.writing() as connection:
        connection.execute(conversations.insert(), [row])
        connection.execute(turns.insert(), [{"agent_id": name, "turn": 1, "model": "m", "started_at": began}])
        connection.execute(messages.insert(), [sent])
