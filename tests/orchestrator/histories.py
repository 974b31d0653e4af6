"""Conversations on a real redis, and what the history says of them."""

from pathlib import Path
from typing import Any

from sqlalchemy import Table, select
from tests.conformance.ledgers import DONE, RedisWorld, claimed, commit_steps
from tests.conversation_steps import asks, finished, make_spec, run_python, says

from skillfleet.conversations.moves import Submitted
from skillfleet.history.database import History
from skillfleet.history.reading import executions_of
from skillfleet.history.records import SkillExecution
from skillfleet.history.tables import conversations, execution_stats, executions
from skillfleet.settings import OrchestratorSettings
from skillfleet_workers.wire.connection import RedisUrls, load_settings
from skillfleet_workers.wire.contract import CallRef, UsedSkill

FLEET = "test"
USED = DONE.model_copy(update={"used": UsedSkill(name="calculator", version="1.0.0", digest="d")})


def settings_of(urls: RedisUrls, url: str, folder: Path, days: int = 0) -> OrchestratorSettings:
    return load_settings(
        OrchestratorSettings, redis_url=urls.url, fleet=FLEET, history_url=url, history_days=days, state_dir=folder
    )


def begun(world: RedisWorld, name: str, calls: int = 1) -> None:
    """Submitted, asked, and its calls are out."""
    world.ledger.submit(make_spec(name))
    ids = [chr(ord("a") + index) for index in range(calls)]
    commit_steps(world, claimed(world, name), Submitted(), due_in=0)
    commit_steps(world, claimed(world, name), asks(*map(run_python, ids)), due_in=0)


def gone_on(world: RedisWorld, name: str, calls: int = 1) -> None:
    """What was out has come in, and it has answered."""
    for index in range(calls):
        ref = CallRef(conversation_id=name, turn=1, index=index)
        assert world.calls.claim(ref, "w1") == "claimed"
        assert world.calls.commit(ref, USED) == "recorded"
    results = [finished(f"1.{index}", '{"stdout": "42\\n"}') for index in range(calls)]
    commit_steps(world, claimed(world, name), *results, due_in=0)
    assert commit_steps(world, claimed(world, name), says("42")).terminal


def lived(world: RedisWorld, name: str, calls: int = 1) -> None:
    begun(world, name, calls)
    gone_on(world, name, calls)


def rows(history: History, table: Table) -> list[dict[str, Any]]:
    with history.reading() as connection:
        return [dict(row) for row in connection.execute(select(table)).mappings()]


def states(history: History) -> dict[str, str]:
    return {row["agent_id"]: row["status"] for row in rows(history, conversations)}


def written(history: History) -> dict[str, SkillExecution]:
    return {row["execution_id"]: SkillExecution.model_validate(row) for row in rows(history, executions)}


def told(world: RedisWorld, *names: str) -> dict[str, SkillExecution]:
    """By the ledger."""
    found: dict[str, SkillExecution] = {}
    for name in names:
        conversation = world.ledger.load(name)
        assert conversation is not None
        runs = executions_of(conversation.spec, world.ledger.entries(name, "0", 0.0))
        found |= {one.execution_id: one for one in runs}
    return found


def counted(history: History) -> int:
    """Executions, in the statistics of single days of all tenants."""
    days = [row for row in rows(history, execution_stats) if row["span"] == 1 and not row["tenant"]]
    return sum(int(row["count"]) for row in days)
