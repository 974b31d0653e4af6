"""The replan loop of seed 003: what comes next, by what was tried (pure)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from .models import MAX_ATTEMPTS, ExecutionResult, PlanMetadata
from .paths import skill_in

MAX_CORRECTIONS = 1
"""So often a plan that does not fit is corrected; then planning has failed, which counts as an attempt."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A plan that was written. `misfit`: why it was not executed; else its `result`; `skills`: those of tools
    that have failed, beside what the result tells, which may be shortened."""

    misfit: str = ""
    result: ExecutionResult | None = None
    skills: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WritePlan:
    """The model is to write the plan of this `attempt`, from 1. `disabled`: skills that it may not use;
    `correction`: the last one does not fit."""

    attempt: int
    disabled: tuple[str, ...] = ()
    parent_plan_id: UUID | None = None
    correction: bool = False

    @property
    def metadata(self) -> PlanMetadata:
        return PlanMetadata(generation_attempt=self.attempt, parent_plan_id=self.parent_plan_id)


@dataclass(frozen=True, slots=True)
class Answer:
    """`result`: of the plan that succeeded, or that ended it; None: all attempts were in vain."""

    result: ExecutionResult | None


def next_move(tried: Iterable[Tried]) -> WritePlan | Answer:
    attempts, to_correct = _attempts(tried)
    disabled: dict[str, None] = {}
    parent: UUID | None = None
    for one in attempts:
        if one.result is not None:
            if one.result.success or not one.result.can_replan:
                return Answer(one.result)
            disabled |= dict.fromkeys((*failed_skills(one.result), *one.skills))
            parent = one.result.plan_id
    if len(attempts) >= MAX_ATTEMPTS:
        return Answer(None)
    return WritePlan(len(attempts) + 1, tuple(disabled), parent, correction=to_correct > 0)


def attempts_made(tried: Iterable[Tried]) -> int:
    """With the one that waits for its correction."""
    attempts, to_correct = _attempts(tried)
    return len(attempts) + (to_correct > 0)


def _attempts(tried: Iterable[Tried]) -> tuple[list[Tried], int]:
    """What each has come to: a plan that does not fit and its correction are one. And how many plans wait for a
    correction, which belong to the attempt that goes on."""
    ended, corrections = list[Tried](), 0
    for one in tried:
        if one.misfit and corrections < MAX_CORRECTIONS:
            corrections += 1
        else:
            ended.append(one)
            corrections = 0
    return ended, corrections


def failed_skills(result: ExecutionResult) -> tuple[str, ...]:
    """Of the tools that have failed, as far as they are told."""
    failed = (one.tool_path or "" for one in result.execution_trace if one.tool_id in result.failed_tools)
    return tuple(dict.fromkeys(name for path in failed if (name := skill_in(path))))


def fallback(prompt: str, tried: Sequence[Tried], plan_id: UUID) -> ExecutionResult:
    """What is told when all attempts were in vain."""
    last = next((one.result for one in reversed(tried) if one.result), None)
    why = next((one.misfit for one in reversed(tried) if one.misfit), "")
    told = f"No plan succeeded for: {prompt}"
    if why and not last:
        told = f"No plan could be written for: {prompt} ({why})"
    return ExecutionResult(
        plan_id=last.plan_id if last else plan_id,
        success=False,
        narrative=told[:2000],
        failed_tools=last.failed_tools if last else (),
        can_replan=False,
        failure_reason=last.failure_reason if last else None,
        execution_trace=last.execution_trace if last else (),
        generation_metadata=last.generation_metadata if last else None,
    )
