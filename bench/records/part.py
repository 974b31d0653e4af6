"""A history of a million executions: how long each question takes, on SQLite and on PostgreSQL."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

from sqlalchemy import Table, text
from tests.postgres_server import binary, postgres

from skillfleet.history.asked import Asked
from skillfleet.history.database import History, open_history
from skillfleet.history.queries import executions
from skillfleet.history.stats import skill_stats
from skillfleet.history.tables import execution_stats
from skillfleet.history.tables import executions as table
from skillfleet.settings import OrchestratorSettings
from skillfleet_workers.wire.connection import load_settings

from ..measure import at_most, heading
from .made import Made

MANY, FEW = 1_000_000, 50_000
AT_ONCE = 5000
TIMES = 9
WANTED_MS = 200

EXECUTIONS: tuple[Any, ...] = (
    {},
    {"limit": 1000},
    {"agent": "agent-0005000"},
    {"skill": "skill-00"},
    {"version": "1.0.0"},
    {"status": "timeout"},
    {"tenant": "tenant-19"},
    {"since": "2026-06-01"},
    {"until": "2025-12-01"},
    {"since": "2025-11-01", "until": "2025-12-01"},
    {"skill": "nothing"},
    {"status": "pending"},
    {"status": "timeout", "skill": "skill-49"},
    {"status": "timeout", "skill": "skill-49", "version": "1.0.0", "tenant": "tenant-19"},
    {"status": "pending", "skill": "skill-00"},
    {"status": "success", "version": "2.0.0", "until": "2026-01-01"},
    {"version": "2.0.0", "tenant": "tenant-00", "until": "2025-12-01"},
    {"skill": "skill-49", "status": "failed", "since": "2025-11-01", "until": "2025-12-01"},
)
STATS: tuple[Any, ...] = (
    {},
    {"skill": "skill-00"},
    {"version": "1.0.0"},
    {"tenant": "tenant-00"},
    {"since": "2026-02-03", "until": "2026-03-20"},
    {"since": "2025-07-03", "until": "2026-06-20"},
    {"tenant": "tenant-00", "since": "2025-08-30", "until": "2026-06-20"},
)


def records(*, quick: bool) -> None:
    with tempfile.TemporaryDirectory(prefix="skillfleet-bench-") as name, ExitStack() as stack:
        urls = {"SQLite": f"sqlite:///{name}/history.db"}
        if binary("initdb"):
            urls["PostgreSQL"] = stack.enter_context(postgres()).new_database()
        for kind, url in urls.items():
            _measure(kind, url, Path(name), FEW if quick else MANY)


def _measure(kind: str, url: str, folder: Path, count: int) -> None:
    history = open_history(load_settings(OrchestratorSettings, history_url=url, state_dir=folder))
    heading(f"{kind}, {count} executions: ms, median of {TIMES} (the slowest)")
    _fill(history, Made(count))
    worst = [_question(history, f"executions {_told(asked)}", _executions(asked)) for asked in EXECUTIONS]
    worst += [_question(history, f"stats {_told(asked)}", _stats(asked)) for asked in STATS]
    history.close()
    print(at_most("the slowest question", max(worst), WANTED_MS, " ms"))
    _commands(url, folder)


def _fill(history: History, made: Made) -> None:
    _insert(history, table, made.executions())
    _insert(history, execution_stats, made.sums())
    with history.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("ANALYZE"))


def _insert(history: History, into: Table, rows: Iterator[dict[str, Any]]) -> None:
    with history.writing() as connection:
        while some := list(islice(rows, AT_ONCE)):
            connection.execute(into.insert(), some)


def _executions(asked: Any) -> Callable[[Any], object]:
    return lambda connection: executions(connection, Asked.of(asked))


def _stats(asked: Any) -> Callable[[Any], object]:
    return lambda connection: skill_stats(connection, Asked.of(asked))


def _question(history: History, name: str, ask: Callable[[Any], object]) -> float:
    took = []
    for _ in range(TIMES):
        began = time.perf_counter()
        with history.reading() as connection:
            ask(connection)
        took.append((time.perf_counter() - began) * 1000)
    middle = statistics.median(took)
    print(f"  {name:<78}{middle:>7.1f}  ({max(took):.1f})", flush=True)
    return middle


def _commands(url: str, folder: Path) -> None:
    environment = os.environ | {"SKILLFLEET_HISTORY_URL": url, "SKILLFLEET_STATE_DIR": str(folder)}
    for words in (("history", "--skill", "skill-49"), ("history", "stats")):
        took = []
        for _ in range(3):
            began = time.perf_counter()
            command = (sys.executable, "-m", "skillfleet", *words)
            subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
            took.append((time.perf_counter() - began) * 1000)
        print(f"  the whole command: skillfleet {' '.join(words):<50}{statistics.median(took):>7.0f}")


def _told(asked: Any) -> str:
    return " ".join(f"{name}={value}" for name, value in asked.items()) or "(all)"
