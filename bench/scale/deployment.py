"""A fleet with many slots as real processes: redis, one orchestrator, a worker, and a model provider."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

import yaml

from skillfleet.app import make_ledger
from skillfleet.conversations.redis_ledger import RedisLedger
from skillfleet.fleet import Fleet
from skillfleet.local.children import Child, Children
from skillfleet.local.lone import worker_environment
from skillfleet.submission import Submission
from skillfleet_workers.wire.contract import RUN_PYTHON

from ..cost import spent_ms
from ..fleet import PATIENCE_S, BenchError, bench_settings, wait_until_up
from ..sides import ANSWER, SCRIPT
from .provider import SKILL, model_name

PROMPT = "What is 2+2?"
TOOL_SLOTS = 2


class Deployment:
    """Up inside the block. `slots`: of its one orchestrator; `provider`: the program that its models are asked of."""

    def __init__(self, folder: Path, slots: int, provider: str = "bench.scale.provider") -> None:
        self.settings = bench_settings(folder)
        self.fleet = Fleet(self.settings)
        self._folder, self._slots, self._program = folder, slots, provider
        self._children = Children()
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as starting:
            starting.enter_context(self.fleet)
            self._provider = starting.enter_context(_provider(self._program))
            starting.callback(self._children.stop)
            self._ledger = make_ledger(self.settings)
            assert self._provider.stdout
            self.base_url = self._provider.stdout.readline().strip()
            self._start(self.base_url)
            wait_until_up(self.fleet)
            self._stack = starting.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _start(self, base_url: str) -> None:
        environment = worker_environment(self.settings)
        log = self.settings.state_dir / "fleet.log"
        model = {"LLM_API_KEY": "sk-bench", "LLM_API_BASE_URL": base_url, "LLM_MODEL_NAME": model_name(0, 0)}
        slots = {"SKILLFLEET_SLOTS": str(self._slots)}
        asks = environment | model | slots
        self._children.start(Child("orchestrator", ("-m", "skillfleet", "orchestrator"), asks, log))
        tools = {"SKILLFLEET_WORKER_CONCURRENCY": str(TOOL_SLOTS)}
        self._children.start(Child("worker", ("-m", "skillfleet_workers", "worker"), environment | tools, log))

    def over_http(self, calls: int, delay_s: float) -> str:
        """The model that the provider plays: the official SDK talks to it."""
        return model_name(calls, delay_s)

    def scripted(self, calls: int, delay_s: float) -> str:
        """The same replies inside the orchestrator, which costs no processor time."""
        call = {"tool": RUN_PYTHON.tool, "arguments": {"skill_name": SKILL, "script": SCRIPT}}
        replies = [*[{"calls": [call], "delay_s": delay_s}] * calls, {"text": ANSWER, "delay_s": delay_s}]
        path = self._folder / f"model-{model_name(calls, delay_s)}.yaml"
        path.write_text(yaml.safe_dump({"replies": replies}))
        return f"scripted:{path}"

    def submit(self, model: str, count: int) -> list[str]:
        return list(self.fleet.submit_batch(Submission.of({"prompt": PROMPT, "model": model}) for _ in range(count)))

    def converse(self, model: str, count: int, calls: int, patience_s: float = PATIENCE_S) -> float:
        """Seconds from the first submission to the last answer. Raises: BenchError, where one is wrong or late."""
        began = time.perf_counter()
        for name in self.submit(model, count):
            while not self._ledger.ended(name, 1.0):
                if time.perf_counter() - began > patience_s:
                    raise BenchError(f"{name} did not end: {self.fleet.status(name)}")
        took = time.perf_counter() - began
        for report in self.fleet.list(count):
            if report.answer != ANSWER or [call.status for call in report.tool_calls] != ["succeeded"] * calls:
                raise BenchError(f"a conversation went wrong: {report}")
        return took

    def spent_ms(self) -> dict[str, float]:
        """Processor time so far, by part."""
        return spent_ms(self.sessions)

    @property
    def ledger(self) -> RedisLedger:
        return self._ledger

    @property
    def children(self) -> Children:
        return self._children

    @property
    def worker(self) -> Child:
        return next(child for child in self._children.children if child.name == "worker")

    @property
    def sessions(self) -> dict[str, int]:
        """Part to session id: each has a session of its own."""
        children = {child.name: child.process.pid for child in self._children.children if child.process}
        redis = int(self.fleet.redis_facts()["process_id"])
        return {**children, "redis": redis, "model server": self._provider.pid}

    def pid(self, part: str) -> int:
        return self.sessions[part]

    def redis_bytes(self) -> int:
        """Memory that redis has allocated."""
        return int(self.fleet.redis_facts()["used_memory"])


def until(true: Callable[[], bool], otherwise: str) -> None:
    """Raises: BenchError."""
    give_up = time.monotonic() + PATIENCE_S
    while not true():
        if time.monotonic() > give_up:
            raise BenchError(otherwise)
        time.sleep(0.02)


@contextmanager
def _provider(program: str) -> Iterator["subprocess.Popen[str]"]:
    """Its first line of output is its base URL; it ends with its stdin."""
    with subprocess.Popen(
        [sys.executable, "-m", program],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        yield process
