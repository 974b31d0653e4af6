"""Our side: plans of a script that does nothing, on one orchestrator and one worker."""

import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from skillfleet.fleet import Fleet

from ..fleet import BenchError
from ..scale.deployment import Deployment

SKILL = "noop"
DOC = "---\nname: noop\ndescription: Does nothing.\nmetadata: {skillfleet: {effects: pure}}\n---\n"
PATIENCE_S = 300.0


def write_skill(fleet: Deployment) -> None:
    folder = fleet.settings.skills_folder / SKILL
    (folder / "scripts").mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(DOC)
    (folder / "scripts" / "noop.py").write_text("pass\n")


def plan(shape: str, count: int) -> dict[str, Any]:
    """A chain, or a fan of tools that need nothing of each other."""
    tools = [
        {
            "toolId": f"t{index}",
            "toolPath": f"{SKILL}/scripts/noop.py",
            "input": {},
            "dependencies": [f"t{index - 1}"] if shape == "chain" and index else [],
            "async": True,
            "retryPolicy": {"maxRetries": 3, "backoffMs": 10},
        }
        for index in range(count)
    ]
    return {"requestId": str(uuid4()), "parallel": True, "tools": tools}


class Plans:
    def __init__(self, deployment: Deployment) -> None:
        self.fleet: Fleet = deployment.fleet
        self._ledger = deployment.ledger
        self.script_ms = 0.0
        """Of the last plan, the mean that a script's run took."""

    def submit(self, shape: str, count: int) -> str:
        return self.fleet.submit_plan(plan(shape, count), timeout=PATIENCE_S)

    def measure(self, shape: str, count: int) -> float:
        """Seconds until its end is known."""
        began = time.perf_counter()
        name = self.submit(shape, count)
        while not self._ledger.ended(name, 1.0):
            if time.perf_counter() - began > PATIENCE_S:
                raise BenchError(f"the plan {name} did not end")
        took = time.perf_counter() - began
        if self.lost_and_twice(name, count) != (0, 0):
            raise BenchError(f"the plan {name} lost a tool, or has one twice")
        trace = self.fleet.plan_result(name).execution_trace
        self.script_ms = sum(one.execution_time_ms for one in trace) / len(trace)
        return took

    def over(self, name: str) -> bool:
        return self._ledger.ended(name, 0.0)

    def lost_and_twice(self, name: str, count: int) -> tuple[int, int]:
        """Tools without a result, and those with more than one, as its events tell."""
        results = list(self._results(name))
        twice = len(results) - len(set(results))
        return count - len(set(results)), twice

    def progress(self, name: str) -> int:
        return sum(one.status is not None for one in self.fleet.transcript(name).runs)

    def _results(self, name: str) -> Iterator[str]:
        for entry in self.fleet.follow(name, live=False):
            if entry and entry.type == "result" and entry.data["status"] == "succeeded":
                yield entry.data["key"]
