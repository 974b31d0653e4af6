"""Both sides as real processes on one private redis: ours as in production, the peer as `celery worker`."""

import os
import subprocess
import time
from pathlib import Path
from typing import Any, Self

import yaml

from skillfleet.conversations.ledger import Claim
from skillfleet.conversations.models import ConversationSpec
from skillfleet.conversations.redis_ledger import RedisLedger
from skillfleet.conversations.runs import ToolRun
from skillfleet.fleet import Fleet
from skillfleet.llm.prompts import opening
from skillfleet.llm.scripted import load_script
from skillfleet.local.children import Child, Children
from skillfleet.local.lone import worker_environment
from skillfleet.settings import OrchestratorSettings
from skillfleet.submission import new_id
from skillfleet.tools.definitions import all_definitions
from skillfleet_workers.python import base_interpreter
from skillfleet_workers.wire.celery import make_celery, send_call
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.contract import RUN_PYTHON, CallMessage, CallRef, TaskSpec

from .sides import ANSWER, CALLS_A_CONVERSATION, SCRIPT

SKILL = "sums"
PATIENCE_S = 60.0
NAIVE_DATABASES = (2, 3)


class BenchError(Exception):
    """A side did not come up, or gave a wrong result: no number of this run counts."""


def bench_settings(folder: Path) -> OrchestratorSettings:
    """A fleet of its own in `folder`, with one skill that has an empty environment."""
    skill = folder / "skills" / SKILL
    skill.mkdir(parents=True, exist_ok=True)
    (skill / "SKILL.md").write_text(f"---\nname: {SKILL}\ndescription: Adds numbers up.\n---\n\n# Sums\n")
    if not interpreter(folder).exists():
        # Of its own: what else is installed on a machine can make its Python start several times slower.
        subprocess.run([base_interpreter(), "-m", "venv", "--without-pip", skill / ".venv"], check=True)
    return OrchestratorSettings(state_dir=folder / "state", skills_folder=folder / "skills")


def interpreter(folder: Path) -> Path:
    """The skill's own, for the scripts of both sides."""
    return folder / "skills" / SKILL / ".venv" / "bin" / "python"


def conversation_script(folder: Path, calls: int = CALLS_A_CONVERSATION) -> Path:
    call = {"tool": RUN_PYTHON.tool, "arguments": {"skill_name": SKILL, "script": SCRIPT}}
    path = folder / f"conversation-{calls}.yaml"
    path.write_text(yaml.safe_dump({"replies": [*[{"calls": [call]}] * calls, {"text": ANSWER}]}))
    return path


def wait_until_up(fleet: Fleet) -> None:
    """Raises: BenchError."""
    give_up = time.monotonic() + PATIENCE_S
    while {process.role for process in fleet.running()} != {"orchestrator", "worker"}:
        if time.monotonic() > give_up:
            raise BenchError("our orchestrator and worker did not come up")
        time.sleep(0.05)


class SkillFleet:
    """An orchestrator process and a worker process."""

    def __init__(self, settings: OrchestratorSettings, fleet: Fleet, children: Children, concurrency: int) -> None:
        self._fleet = fleet
        environment = worker_environment(settings) | {"SKILLFLEET_WORKER_CONCURRENCY": str(concurrency)}
        log = settings.state_dir / "skillfleet.log"
        children.start(Child("orchestrator", ("-m", "skillfleet", "orchestrator"), environment, log))
        children.start(Child("worker", ("-m", "skillfleet_workers", "worker"), environment, log))
        self._script = load_script(conversation_script(settings.state_dir))
        self._ledger = RedisLedger(RedisUrls.of(settings), settings.fleet)
        self._calls = ToolCalls(settings)
        wait_until_up(fleet)

    def call(self, count: int) -> float:
        return self._calls.run(count)

    def converse(self, count: int) -> float:
        began = time.perf_counter()
        specs = [self._spec() for _ in range(count)]
        for spec in specs:
            self._ledger.submit(spec)
        for spec in specs:
            report = self._fleet.result(spec.id)
            if report.answer != ANSWER or [call.status for call in report.tool_calls] != ["succeeded"] * 3:
                raise BenchError(f"our conversation went wrong: {report}")
        return time.perf_counter() - began

    def _spec(self) -> ConversationSpec:
        return ConversationSpec(
            id=new_id(), model="scripted:bench", script=self._script, opening=opening("What is 2+2?"),
            tools=all_definitions(),
        )  # fmt: skip


class ToolCalls:
    """Tool calls without an orchestrator: sent as it sends them, known when a follower has read the result."""

    def __init__(self, settings: OrchestratorSettings, *, queue: str = "") -> None:
        self.app = make_celery(settings, queue=queue)
        self._ledger = RedisLedger(RedisUrls.of(settings), "bench-calls")

    def run(self, count: int) -> float:
        refs = self.wanted(count)
        began = time.perf_counter()
        for ref in refs:
            self.send(ref, RUN_PYTHON, {"skill_name": SKILL, "script": SCRIPT})
        self.wait_for(refs)
        return time.perf_counter() - began

    def wanted(self, count: int, tool: str = RUN_PYTHON.tool) -> list[CallRef]:
        """A conversation that waits for so many calls: workers leave alone what nobody waits for."""
        name = new_id()
        self._ledger.submit(ConversationSpec(id=name, opening=opening("calls"), tools=()))
        claim = self._ledger.claim(name)
        if not isinstance(claim, Claim):
            raise BenchError("our ledger did not give out a conversation")
        refs = [CallRef(conversation_id=name, turn=1, index=index) for index in range(count)]
        runs = tuple(ToolRun(ref=ref, tool_call_id=ref.key, name=tool, sends=1) for ref in refs)
        waiting = claim.conversation.model_copy(update={"status": "running", "turn": 1, "runs": runs})
        self._ledger.commit(claim.fence, waiting, [], claim.now + 3600)
        return refs

    def send(self, ref: CallRef, task: TaskSpec[Any], request: dict[str, Any]) -> None:
        send_call(self.app, task.name, CallMessage(ref=ref, request=request, sent_at=time.time()))

    def wait_for(self, refs: list[CallRef]) -> None:
        missing, after = {ref.key for ref in refs}, "0"
        give_up = time.monotonic() + PATIENCE_S
        while missing:
            for entry in self._ledger.entries(refs[0].conversation_id, after, 1.0):
                after = entry.cursor
                if entry.type == "result":
                    missing.discard(entry.data["key"])
                    if entry.data["status"] != "succeeded" or entry.data["tail"] not in ("4", SKILL):
                        raise BenchError(f"our call went wrong: {entry.data}")
            if time.monotonic() > give_up:
                raise BenchError(f"our calls {missing} did not come back")


class NaiveCelery:
    """Two `celery worker` processes (prefork, as by default): one for conversations, one for tools."""

    def __init__(
        self, settings: OrchestratorSettings, children: Children, concurrency: int, conversations: int
    ) -> None:
        socket = RedisUrls.of(settings).url.removeprefix("unix://")
        broker, results = (f"redis+socket://{socket}?virtual_host={number}" for number in NAIVE_DATABASES)
        ours = {
            "BENCH_BROKER": broker,
            "BENCH_RESULTS": results,
            "BENCH_INTERPRETER": str(interpreter(settings.state_dir.parent)),
        }
        os.environ.update(ours)
        log = settings.state_dir / "naive.log"
        for queue, processes in (("tools", concurrency), ("conversations", conversations)):
            arguments = ("-m", "celery", "-A", "bench.naive", "worker", "-Q", queue, "-n", f"{queue}@bench")
            children.start(Child(queue, (*arguments, "-c", str(processes)), {**os.environ}, log))
        from . import naive  # noqa: PLC0415  it reads its addresses from the environment, as tutorials do

        self._naive = naive

    def call(self, count: int) -> float:
        began = time.perf_counter()
        sent = [self._naive.run_python.delay(SCRIPT) for _ in range(count)]
        for result in sent:
            if result.get(timeout=PATIENCE_S)["stdout"] != "4\n":
                raise BenchError("the peer's call went wrong")
        return time.perf_counter() - began

    def converse(self, count: int) -> float:
        scripts = [SCRIPT] * CALLS_A_CONVERSATION
        began = time.perf_counter()
        sent = [self._naive.converse.delay("What is 2+2?", scripts, ANSWER) for _ in range(count)]
        for result in sent:
            if result.get(timeout=PATIENCE_S) != ANSWER:
                raise BenchError("the peer's conversation went wrong")
        return time.perf_counter() - began


class Pair:
    """Both sides, up and warm; both are gone after the block."""

    def __init__(self, folder: Path, concurrency: int, conversations: int) -> None:
        self.settings = bench_settings(folder)
        self._concurrency, self._conversations = concurrency, conversations
        self._fleet = Fleet(self.settings)
        self._children = Children()

    def __enter__(self) -> Self:
        self._fleet.__enter__()
        try:
            self.naive = NaiveCelery(self.settings, self._children, self._concurrency, self._conversations)
            self.ours = SkillFleet(self.settings, self._fleet, self._children, self._concurrency)
            for side in (self.naive, self.ours):
                side.call(4)
                side.converse(self._conversations)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._children.stop()
        self._fleet.__exit__(None, None, None)

    @property
    def sessions(self) -> dict[str, int]:
        """Part to session id: each child has a session of its own."""
        found = {child.name: child.process.pid for child in self._children.children if child.process}
        return {"redis": int(self._fleet.redis_facts()["process_id"]), **found}

    @property
    def redis_version(self) -> str:
        return self._fleet.redis_facts()["redis_version"]
