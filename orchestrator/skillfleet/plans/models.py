"""A plan and what it has come to (seed 003): the models of Plan JSON and of its execution result.

On the wire their names are camelCase; both forms are read. What a person or a model writes is read strictly, by
`read_plan`; what was stored is read leniently, so that an older release reads what a newer one has written.
"""

from enum import StrEnum
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

from ..conversations.limits import ConversationModel

TOOL_TIMEOUT_S = 30
PLAN_TIMEOUT_S = 60.0
MAX_TIMEOUT_S = 7 * 86_400
MAX_ATTEMPTS = 5
"""So often a prompt is planned; then there is the fallback result."""

MAX_TOOLS = 1000
MAX_RETRIES = 20
MAX_BACKOFF_MS = 3_600_000
NAME = r"^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$"
"""A tool's id."""


class PlanPart(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True, serialize_by_alias=True
    )

    def as_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json")


class RetryPolicy(PlanPart):
    """A tool that fails is run again up to `max_retries` times, first after `backoff_ms`, then each time after twice
    as long."""

    max_retries: int = Field(default=3, ge=0, le=MAX_RETRIES)
    backoff_ms: int = Field(default=100, ge=0, le=MAX_BACKOFF_MS)

    def backoff_s(self, attempt: int) -> float:
        """How long after the `attempt`th failure it is run again, seconds."""
        return self.backoff_ms * 2.0 ** (attempt - 1) / 1000


class ToolInvocation(PlanPart):
    """One tool of a plan. `tool_path`: the script of a skill, as SKILL/PATH. `input`: for its standard input;
    `{"$from": TOOL_ID, "pointer": JSON_POINTER}` anywhere in it stands for what another tool has brought.
    `dependencies`: the tools that come first. `required`: without it the plan fails. `async`: it may run beside
    others."""

    tool_id: str = Field(pattern=NAME)
    tool_path: str = Field(min_length=1, max_length=1000)
    input: dict[str, JsonValue]
    dependencies: tuple[str, ...] = ()
    required: bool = True
    concurrent: bool = Field(default=False, alias="async")
    retry_policy: RetryPolicy = RetryPolicy()


class PlanMetadata(PlanPart):
    """`generation_attempt`: which plan for its prompt it is, from 1; `parent_plan_id`: the one before it."""

    generation_attempt: int = Field(default=1, ge=1)
    parent_plan_id: UUID | None = None


class PlanJson(PlanPart):
    """`parallel`: its tools may run side by side, where they are `async`. `disabled_skills`: no tool may be one of
    theirs."""

    request_id: UUID
    narrative: str | None = None
    tools: tuple[ToolInvocation, ...] = Field(min_length=1, max_length=MAX_TOOLS)
    parallel: bool = False
    disabled_skills: tuple[str, ...] = ()
    metadata: PlanMetadata = PlanMetadata()

    def may_overlap(self, tool: ToolInvocation) -> bool:
        return self.parallel and tool.concurrent


class PlanSpec(ConversationModel):
    """A plan as it is to be executed. `tool_timeout_s`: of each run of a tool; `timeout_s`: of the plan, from when it
    begins, seconds."""

    plan: PlanJson
    tool_timeout_s: int = Field(default=TOOL_TIMEOUT_S, ge=1, le=3600)
    timeout_s: float = Field(default=PLAN_TIMEOUT_S, gt=0, le=MAX_TIMEOUT_S)


class ExecutionState(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"
    TIMEOUT = "timeout"


class FailureReason(StrEnum):
    CIRCULAR_DEPENDENCY = "circular_dependency"
    TOOL_FAILURE = "tool_failure"
    TIMEOUT = "timeout"
    PROTOCOL_VIOLATION = "protocol_violation"


class ErrorType(StrEnum):
    TOOL_EXECUTION_FAILED = "ToolExecutionFailed"
    DEPENDENCY_FAILED = "DependencyFailed"
    TIMEOUT = "Timeout"
    PROTOCOL_VIOLATION = "ProtocolViolation"


class ToolFailure(PlanPart):
    """Seed 003's ToolError. `exit_code`: of the script's process, None: nothing ran."""

    type: ErrorType
    message: str
    exit_code: int | None = None


class ToolResult(PlanPart):
    """What one tool has come to. `output`: the JSON object that it wrote, or what its patches come to; `events`: what
    it told by the NDJSON protocol; `execution_time_ms`: of its last run; `retry_count`: how often it was run again
    because it had failed."""

    tool_id: str
    tool_path: str | None = None
    ok: bool
    state: ExecutionState
    output: dict[str, JsonValue] | None = None
    events: tuple[dict[str, JsonValue], ...] = ()
    execution_time_ms: int = Field(ge=0)
    retry_count: int = Field(ge=0)
    error: ToolFailure | None = None


class ExecutionResult(PlanPart):
    """What a plan has come to. `success`: all required tools succeeded. `can_replan`: another plan may do better.
    `execution_trace`: of every tool, in the order in which they may run; `final_state`: what the patches of those
    that completed come to, merged in that order."""

    plan_id: UUID
    success: bool
    narrative: str | None = None
    failed_tools: tuple[str, ...]
    can_replan: bool = False
    failure_reason: FailureReason | None = None
    execution_trace: tuple[ToolResult, ...]
    final_state: dict[str, JsonValue] = Field(default_factory=dict)
    total_execution_time_ms: int = Field(default=0, ge=0)
    generation_metadata: PlanMetadata | None = None
