"""Plans, their event streams and what they have come to, as charts of them need it."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from skillfleet.events import Entry, EntryType
from skillfleet.plans.gantt import Chart, chart_of
from skillfleet.plans.models import ExecutionResult, ExecutionState, PlanJson, PlanSpec, ToolInvocation, ToolResult

BEGAN = 1000.0
ID = UUID("6f1c2c1e-3f0a-4c57-9a33-0d6f1f2b8a10")
States = dict[str, ExecutionState]


def entry(kind: EntryType, index: int, at: float, **data: Any) -> Entry:
    """Of the call for the plan's tool at `index`; `at`: seconds since the plan began."""
    return Entry(1, BEGAN + at, kind, {"key": f"1.{index}", **data})


def result_of(states: States, **more: Any) -> ExecutionResult:
    trace = tuple(
        ToolResult(tool_id=name, ok=state == "completed", state=state, execution_time_ms=5, retry_count=0)
        for name, state in states.items()
    )
    success = all(one.ok for one in trace)
    failed = tuple(one.tool_id for one in trace if one.state == "failed")
    return ExecutionResult(plan_id=ID, success=success, failed_tools=failed, execution_trace=trace, **more)


def spec_of(names: Sequence[str], needs: dict[str, tuple[str, ...]]) -> PlanSpec:
    """Of any names at all: what was stored is read as it is."""
    tools = tuple(
        ToolInvocation.model_construct(
            tool_id=name, tool_path="lab/scripts/run.py", input={}, dependencies=needs.get(name, ())
        )
        for name in names
    )
    return PlanSpec.model_construct(plan=PlanJson.model_construct(request_id=ID, tools=tools))


def chart(
    states: States, *entries: Entry, ended: float = 10.0, needs: dict[str, tuple[str, ...]] | None = None
) -> Chart:
    return chart_of(spec_of(tuple(states), needs or {}), result_of(states), entries, BEGAN, BEGAN + ended)
