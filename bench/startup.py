"""From `skillfleet submit` with nothing running to the first model request, by the true command line."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.model_answers import Answer, Completion
from tests.model_server import KEY, ModelServer

from skillfleet.fleet import Fleet
from skillfleet.settings import OrchestratorSettings
from skillfleet_workers.wire.contract import RUN_PYTHON

from .fleet import SKILL, BenchError, bench_settings
from .measure import heading
from .sides import ANSWER, SCRIPT

CALL = ("call_1", RUN_PYTHON.tool, f'{{"skill_name": "{SKILL}", "script": "{SCRIPT}"}}')
READY = "ready to accept connections"
STARTING = "oO0OoO0OoO0Oo"


@dataclass(frozen=True, slots=True)
class Start:
    """Milliseconds from the start of the process to each of these, in the order in which they happen."""

    redis_started: float
    redis_ready: float
    submitted: float
    claimed: float
    first_request: float
    script_started: float
    answered: float
    ended: float


MEANING = {
    "redis_started": "python and imports, until redis starts",
    "redis_ready": "redis is ready",
    "submitted": "the conversation is stored",
    "claimed": "claimed; the model is about to be asked",
    "first_request": "FIRST MODEL REQUEST at the provider",
    "script_started": "the worker is up, its first script starts",
    "answered": "the conversation has its answer",
    "ended": "submit has ended, nothing runs",
}


def startup(times: int) -> None:
    heading(f"`skillfleet submit` with nothing running (ms, median of {times}; what came between)")
    starts = [measure_start() for _ in range(times)]
    last = 0.0
    for field in fields(Start):
        value = statistics.median(getattr(start, field.name) for start in starts)
        print(f"  {MEANING[field.name]:<44}{value:>7.0f}  {value - last:>+6.0f}")
        last = value
    for module in ("openai", "celery", "skillfleet.cli"):
        print(f"  importing {module} alone{import_ms(module):>{42 - len(module)}.0f}")


class _Provider:
    """Asks for one script, then answers; remembers when it was first asked."""

    def __init__(self) -> None:
        self.first_at: float | None = None

    def __call__(self, body: dict[str, Any]) -> Answer:
        if self.first_at is None:
            self.first_at = time.time()
        answered = any(message["role"] == "tool" for message in body["messages"])
        return Completion(ANSWER) if answered else Completion(calls=(CALL,))


def measure_start() -> Start:
    provider = _Provider()
    with tempfile.TemporaryDirectory(prefix="skillfleet-bench-") as name, ModelServer(provider) as server:
        settings = bench_settings(Path(name))
        environment = os.environ | {
            "SKILLFLEET_STATE_DIR": str(settings.state_dir),
            "SKILLS_FOLDER_PATH": str(settings.skills_folder),
            "LLM_API_KEY": KEY,
            "LLM_API_BASE_URL": server.base_url,
            "LLM_MODEL_NAME": "bench",
        }
        began = time.time()
        done = subprocess.run(
            [sys.executable, "-m", "skillfleet", "submit", "--no-follow", "What is 2+2?"],
            env=environment, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        ended = time.time()
        if done.returncode or ANSWER not in done.stdout or provider.first_at is None:
            raise BenchError(f"submit went wrong: {done.stdout}{done.stderr}")
        return _start(settings, began, provider.first_at, ended)


def _start(settings: OrchestratorSettings, began: float, first_at: float, ended: float) -> Start:
    log = (settings.state_dir / "redis" / "redis.log").read_text()
    with Fleet(settings) as fleet:
        entries = [entry for entry in fleet.follow(fleet.list(1)[0].id) if entry]
    at: dict[str, float] = {}
    for entry in entries:
        at.setdefault(entry.type, entry.at)

    def since(moment: float) -> float:
        return (moment - began) * 1000

    return Start(
        redis_started=since(_logged(log, STARTING)),
        redis_ready=since(_logged(log, READY)),
        submitted=since(at["submitted"]),
        claimed=since(at["turn"]),
        first_request=since(first_at),
        script_started=since(at["started"]),
        answered=since(at["ended"]),
        ended=since(ended),
    )


def _logged(log: str, what: str) -> float:
    """When redis first said so: `PID:ROLE 21 Nov 2026 23:07:46.123 * ...`, in local time."""
    line = next(line for line in log.splitlines() if what in line.replace("Ready", "ready"))
    return datetime.strptime(" ".join(line.split()[1:5]), "%d %b %Y %H:%M:%S.%f").timestamp()


def import_ms(module: str) -> float:
    """A process that imports it, less one that imports nothing."""

    def run(code: str) -> float:
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return (time.perf_counter() - began) * 1000

    empty = run("pass")
    return run(f"import {module}") - empty
