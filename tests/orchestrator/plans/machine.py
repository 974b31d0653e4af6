"""The real engine executing a plan, with workers and a clock that a test holds in its hands."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

from tests.conversation_steps import NOW
from tests.orchestrator.plans.oracle import Tool

from skillfleet.conversations.engine import step
from skillfleet.conversations.limits import Limits
from skillfleet.conversations.lost_calls import MAX_STARTS
from skillfleet.conversations.messages import Message
from skillfleet.conversations.models import Conversation, ConversationSpec
from skillfleet.conversations.moves import (
    BackoffOver,
    CallModel,
    Effect,
    Event,
    RunTool,
    Submitted,
    ToolFailed,
    ToolFinished,
    ToolLost,
)
from skillfleet.conversations.plan_runs import quotes_of
from skillfleet.conversations.plan_turns import plan_turn, result_of
from skillfleet.conversations.runs import ToolRun
from skillfleet.plans.models import ExecutionResult, PlanJson, PlanSpec
from skillfleet.subagents.models import AgentSpec
from skillfleet.tools.definitions import definition
from skillfleet_workers.wire.contract import RUN_SCRIPT
from skillfleet_workers.wire.kept import KeptRun

PLAN_ID = "6f1c2c1e-3f0a-4c57-9a33-0d6f1f2b8a10"


def plan_json(tools: Sequence[Tool], *, parallel: bool) -> dict[str, Any]:
    written = [
        {
            "toolId": tool.name,
            "toolPath": f"skill-{index % 5}/scripts/run.py",
            "input": {"n": index, "from": [{"$from": one, "pointer": "/n"} for one in tool.needs]},
            "dependencies": list(tool.needs),
            "required": tool.required,
            "async": tool.overlaps,
            "retryPolicy": {"maxRetries": tool.retries, "backoffMs": tool.backoff_ms},
        }
        for index, tool in enumerate(tools)
    ]
    return {"requestId": PLAN_ID, "tools": written, "parallel": parallel}


def executing(plan: PlanJson, timeout_s: float = 1e5) -> Conversation:
    agent = AgentSpec(plan=PlanSpec(plan=plan, timeout_s=timeout_s))
    opening = (Message(role="user", content="Go."),)
    spec = ConversationSpec(
        id="c1", opening=opening, tools=(definition(RUN_SCRIPT),), agent=agent, created_at=NOW,
        limits=Limits(timeout_s=6e5),
    )  # fmt: skip
    return Conversation.begun(spec)


@dataclass
class Machine:
    """`ran`: of each tool from when to when, its pauses between two runs included; `runs`: of every run."""

    tools: Sequence[Tool]
    conversation: Conversation
    random: Random
    cap: int
    now: float = NOW
    ran: dict[str, tuple[float, float]] = field(default_factory=dict)
    runs: list[tuple[float, float, str]] = field(default_factory=list)
    kept: dict[str, KeptRun] = field(default_factory=dict)
    starts: dict[str, int] = field(default_factory=dict)
    _ahead: list[tuple[float, int, Event, str]] = field(default_factory=list)
    _numbers: Any = field(default_factory=count)

    def begin(self) -> None:
        self.tell(Submitted())

    def tell(self, event: Event) -> None:
        self.conversation, effects = step(self.conversation, event, self.now, self.cap)
        self._perform(effects)

    def advance(self) -> bool:
        """The next thing that happens; False: nothing more does."""
        if not self._ahead:
            return False
        self.now, _, event, name = heapq.heappop(self._ahead)
        if name and not isinstance(event, BackoffOver):
            self.ran[name] = (self.ran[name][0], self.now)
        self.tell(event)
        for run in self.conversation.backing_off:
            if not any(isinstance(one, BackoffOver) and one.key == run.key for _, _, one, _ in self._ahead):
                self._later((run.retry_at or 0) - self.now, BackoffOver(run.key), self._tool(run).name)
        return True

    def next_event(self) -> Event | None:
        return self._ahead[0][2] if self._ahead else None

    def to_the_end(self) -> ExecutionResult:
        self.begin()
        while self.advance():
            pass
        return self.result()

    def result(self) -> ExecutionResult:
        plan = self.conversation.spec.plan
        assert plan is not None
        return result_of(self.conversation, plan, None, self._read, self.now)

    def _perform(self, effects: list[Effect]) -> None:
        plan = self.conversation.spec.plan
        assert plan is not None
        for effect in effects:
            if isinstance(effect, RunTool):
                self._run(effect.run, plan)
            elif isinstance(effect, CallModel):
                self.tell(plan_turn(self.conversation, plan, None, self._read, self.now))

    def _run(self, run: ToolRun, plan: PlanSpec) -> None:
        tool = self._tool(run)
        number = self.starts[tool.name] = self.starts.get(tool.name, 0) + 1
        outcome = tool.outcomes[number - 1] if number <= len(tool.outcomes) else "ok"
        self.ran.setdefault(tool.name, (self.now, self.now))
        self._check_quotes(run, plan, tool)
        takes_s = self.random.choice((0.0, 0.01, 0.5, 3.0)) * self.random.random()
        self.runs.append((self.now, self.now + takes_s, tool.name))
        if outcome == "lost":
            event: Event = ToolLost(run.key, "idempotent" if tool.retries else "unsafe")
            assert run.losses < MAX_STARTS
        elif outcome != "ok" and run.failures < tool.retries:
            event = ToolFailed(run.key, run.failures + 1)
        else:
            event = ToolFinished(run.key, "succeeded" if outcome == "ok" else outcome, "{}", worker="w1", ms=takes_s)
            self.kept[run.ref.task_id] = KeptRun(status=event.status, patches=tool.patches, error=outcome)
        self._later(takes_s, event, tool.name)

    def _check_quotes(self, run: ToolRun, plan: PlanSpec, tool: Tool) -> None:
        """Of a tool that has completed the attempt that did; of another nothing."""
        for quote, needed in zip(quotes_of(self.conversation, plan, run), tool.needs, strict=True):
            done = next(one for one in self.conversation.runs if self._tool(one).name == needed)
            assert quote.task_id == (done.ref.task_id if done.status == "succeeded" else "")
            assert not quote.task_id or self.kept[quote.task_id].status == "succeeded"

    def _later(self, in_s: float, event: Event, name: str = "") -> None:
        heapq.heappush(self._ahead, (self.now + max(0.0, in_s), next(self._numbers), event, name))

    def _tool(self, run: ToolRun) -> Tool:
        return self.tools[run.ref.index]

    def _read(self, conversation_id: str, task_ids: Any) -> dict[str, KeptRun]:
        return {task_id: self.kept[task_id] for task_id in task_ids if task_id in self.kept}
