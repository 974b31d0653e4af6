"""SkillExecution (seed 002): the record of one run of a skill."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    computed_field,
    model_validator,
)

from skillfleet_workers.wire.uuids import is_uuid4, uuid_of

MOST_RETRIES = 5
"""As a skill's `max_retries` has it at most."""


class ExecutionStatus(StrEnum):
    PENDING = "pending"
    SUCCESS = "success"
    FAILED = "failed"
    TIMEOUT = "timeout"


def execution_id(conversation_id: str, key: str) -> str:
    """Of the call `key` of a conversation, whichever of its attempts brought it to its end."""
    return uuid_of(f"execution {conversation_id} {key}")


def _uuid4(text: str) -> str:
    if not is_uuid4(text):
        raise ValueError("is no UUID of version 4")
    return text


class SkillExecution(BaseModel):
    """`agent_id`: of the conversation whose `call` (TURN.INDEX) it was, and `tool` what that called. `skill_name` is
    empty of code that belongs to no skill. `started_at` of one that no worker began is when it was sent;
    `retry_count` counts failures that were followed by a new attempt, not the attempts that were lost with their
    workers."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    execution_id: Annotated[str, AfterValidator(_uuid4)]
    agent_id: str = Field(min_length=1)
    skill_name: str
    skill_version: str
    parameters: dict[str, JsonValue] = Field(default_factory=dict)
    result: dict[str, JsonValue] | None = None
    error: str | None = None
    status: ExecutionStatus = ExecutionStatus.PENDING
    started_at: AwareDatetime | None = None
    completed_at: AwareDatetime | None = None
    retry_count: int = Field(default=0, ge=0, le=MOST_RETRIES)
    tenant: str = ""
    call: str = ""
    tool: str = ""
    worker: str = ""
    runtime: str = ""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def duration_ms(self) -> int | None:
        """Whole milliseconds from its start to its end."""
        if self.started_at is None or self.completed_at is None:
            return None
        return round((self.completed_at - self.started_at).total_seconds() * 1000)

    @model_validator(mode="after")
    def _of_its_status(self) -> Self:
        """What is pending has come to nothing yet; what has ended says when, and what it came to."""
        match self.status:
            case ExecutionStatus.PENDING:
                wrong = [name for name in ("result", "error", "completed_at") if getattr(self, name) is not None]
                if wrong:
                    raise ValueError(f"a pending execution has no {wrong[0]}")
                return self
            case ExecutionStatus.SUCCESS if self.error is not None:
                raise ValueError("a successful execution has no error")
            case ExecutionStatus.FAILED | ExecutionStatus.TIMEOUT if self.result is not None or not self.error:
                raise ValueError(f"an execution with status {self.status} has an error, and no result")
        if self.started_at is None or self.completed_at is None:
            raise ValueError(f"an execution with status {self.status} needs started_at and completed_at")
        if self.completed_at < self.started_at:
            raise ValueError("completed_at is before started_at")
        return self
