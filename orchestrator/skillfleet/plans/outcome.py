"""What a plan has come to, made of its calls (pure)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal
from uuid import UUID

from skillfleet_workers.wire.kept import KeptRun
from skillfleet_workers.wire.patches import merged

from ..conversations.plan_runs import SKIPPED, has_begun, message_of, tool_of
from ..conversations.runs import ToolRun
from .checking import Wrong, told
from .graph import needs_of, order
from .models import (
    ErrorType,
    ExecutionResult,
    ExecutionState,
    FailureReason,
    PlanJson,
    PlanMetadata,
    PlanSpec,
    ToolFailure,
    ToolResult,
)

OUT_OF_TIME = "The plan's time was over before it was done."
CANCELLED = "The plan was cancelled before it was done."
NO_PLAN = UUID(int=0)
"""The id of a plan that never was one."""

_STATES = {
    None: ExecutionState.RUNNING,
    "succeeded": ExecutionState.COMPLETED,
    "timed_out": ExecutionState.TIMEOUT,
    SKIPPED: ExecutionState.SKIPPED,
}


How = Literal["open", "done", "cancelled", "expired"]


@dataclass(frozen=True, slots=True)
class Ended:
    """`how`: it goes on, or has come to its end, or was ended; `began`, `at`: seconds since the epoch; `out_of_time`:
    the plan's time was over; `others`: there are skills that another plan could use."""

    how: How
    began: float
    at: float
    out_of_time: bool = False
    others: bool = True

    @property
    def cancelled(self) -> bool:
        return self.how == "cancelled"


def execution_result(
    spec: PlanSpec,
    runs: Sequence[ToolRun],
    kept: Mapping[str, KeptRun],
    shown: Mapping[str, str],
    ended: Ended,
) -> ExecutionResult:
    """`kept`: what calls have brought, and `shown`: what was shown of them, both by their keys; where nothing was
    kept of one, that tells why it failed."""
    by_id = {tool_of(spec, run).tool_id: run for run in runs}
    results = {
        name: _tool_result(spec, run, kept.get(run.key), shown.get(run.key, run.shown), ended)
        for name, run in by_id.items()
    }
    trace = tuple(results.get(name) or _pending(spec.plan, name) for name in order(needs_of(spec.plan.tools)))
    failed = tuple(one for one in trace if one.state in (ExecutionState.FAILED, ExecutionState.TIMEOUT))
    required = {tool.tool_id for tool in spec.plan.tools if tool.required}
    success = ended.how == "done" and all(one.ok for one in trace if one.tool_id in required)
    patches = (kept[by_id[one.tool_id].key].patches for one in trace if one.ok and by_id[one.tool_id].key in kept)
    return ExecutionResult(
        plan_id=spec.plan.request_id,
        success=success,
        narrative=spec.plan.narrative,
        failed_tools=tuple(one.tool_id for one in failed),
        can_replan=not success and ended.others and ended.how in ("done", "expired"),
        failure_reason=None if success else _reason(ended, [one for one in failed if one.tool_id in required]),
        execution_trace=trace,
        final_state=merged(chain.from_iterable(patches)),
        total_execution_time_ms=max(0, round((ended.at - ended.began) * 1000)),
        generation_metadata=spec.plan.metadata,
    )


def refused_result(
    wrong: Sequence[Wrong], plan_id: UUID = NO_PLAN, metadata: PlanMetadata | None = None
) -> ExecutionResult:
    """Of a plan that was not executed, for it does not fit."""
    circular = any(one.circular for one in wrong)
    reason = FailureReason.CIRCULAR_DEPENDENCY if circular else FailureReason.PROTOCOL_VIOLATION
    return ExecutionResult(
        plan_id=plan_id,
        success=False,
        narrative=f"The plan does not fit: {told(wrong)}.",
        failed_tools=(),
        can_replan=True,
        failure_reason=reason,
        execution_trace=(),
        generation_metadata=metadata,
    )


def untold_result(plan_id: UUID, why: str, *, cancelled: bool, late: bool) -> ExecutionResult:
    """Of a plan that was executed, and ended before it could tell what it had come to."""
    return ExecutionResult(
        plan_id=plan_id,
        success=False,
        narrative=why,
        failed_tools=(),
        can_replan=not cancelled,
        failure_reason=FailureReason.TIMEOUT if late else None,
        execution_trace=(),
    )


def _tool_result(spec: PlanSpec, run: ToolRun, kept: KeptRun | None, shown: str, ended: Ended) -> ToolResult:
    tool, state = tool_of(spec, run), _state(run, ended)
    brought: dict[str, Any] = {}
    if kept is not None:
        brought = {"output": kept.output if state is ExecutionState.COMPLETED else None, "events": kept.events}
    return ToolResult(
        tool_id=tool.tool_id,
        tool_path=tool.tool_path,
        ok=state is ExecutionState.COMPLETED,
        state=state,
        execution_time_ms=round(kept.ms if kept and kept.ms else run.ms),
        retry_count=run.failures,
        error=_failure(run, state, kept, shown, ended),
        **brought,
    )


def _pending(plan: PlanJson, name: str) -> ToolResult:
    tool = next(tool for tool in plan.tools if tool.tool_id == name)
    return ToolResult(
        tool_id=name, tool_path=tool.tool_path, ok=False, state=ExecutionState.PENDING,
        execution_time_ms=0, retry_count=0,
    )  # fmt: skip


def _state(run: ToolRun, ended: Ended) -> ExecutionState:
    if run.status in (None, "cancelled") and not has_begun(run):
        return ExecutionState.PENDING
    if run.status == "cancelled" and ended.out_of_time:
        return ExecutionState.TIMEOUT
    return _STATES.get(run.status, ExecutionState.FAILED)


def _failure(
    run: ToolRun, state: ExecutionState, kept: KeptRun | None, shown: str, ended: Ended
) -> ToolFailure | None:
    told_of = (kept.error if kept else "") or message_of(shown)
    code = kept.returncode if kept else None
    match state:
        case ExecutionState.SKIPPED:
            return ToolFailure(type=ErrorType.DEPENDENCY_FAILED, message=told_of)
        case ExecutionState.TIMEOUT:
            said = OUT_OF_TIME if run.status == "cancelled" else told_of or "it took too long"
            return ToolFailure(type=ErrorType.TIMEOUT, message=said, exit_code=code)
        case ExecutionState.FAILED if run.status == "protocol_violation":
            return ToolFailure(type=ErrorType.PROTOCOL_VIOLATION, message=told_of, exit_code=code)
        case ExecutionState.FAILED:
            said = CANCELLED if run.status == "cancelled" else told_of or str(run.status)
            return ToolFailure(type=ErrorType.TOOL_EXECUTION_FAILED, message=said, exit_code=code)
    return None


def _reason(ended: Ended, failed: Sequence[ToolResult]) -> FailureReason | None:
    """Of several that failed, the first decides."""
    if ended.cancelled:
        return None
    if ended.out_of_time:
        return FailureReason.TIMEOUT
    for one in failed:
        if one.state is ExecutionState.TIMEOUT:
            return FailureReason.TIMEOUT
        violated = one.error is not None and one.error.type is ErrorType.PROTOCOL_VIOLATION
        return FailureReason.PROTOCOL_VIOLATION if violated else FailureReason.TOOL_FAILURE
    return None
