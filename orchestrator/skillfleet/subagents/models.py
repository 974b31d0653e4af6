"""Subagents (seed 002): what one is told when it begins, what its parent keeps of it, and the states it goes through.

A Subagent is a conversation that another one began, or one that runs skills without a model."""

from enum import StrEnum
from typing import Any, Self

from pydantic import Field, JsonValue, field_validator

from skillfleet_workers.wire.execution import Artifact

from ..conversations.limits import ConversationModel, Limits, Usage
from ..plans.models import PlanSpec

SPAWN_SUBAGENT, PLAN_TOOL = "spawn_subagent", "execute_plan"
"""The tools that begin one."""

MAX_NAME_CHARS = 100
MAX_METADATA_KEYS = 20
MAX_ERROR_CHARS = 1000


class AgentState(StrEnum):
    """Seed 002's lifecycle states."""

    IDLE = "idle"
    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"


class ChainStep(ConversationModel):
    """A skill that a chain runs. `script`: its path in the skill; `parameters`: the skill's parameters_schema;
    `after`: the skills whose outputs it can use, and which have to succeed first; `inputs`: values of its parameters,
    in which the text `${SKILL.path.to.0.value}` stands for what that step has come to; `topic`: its events are
    published as TOPIC.complete and TOPIC.failed, empty: nobody is told."""

    skill: str
    version: str = ""
    script: str = ""
    parameters: dict[str, Any] = Field(default_factory=dict)
    after: tuple[str, ...] = ()
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    topic: str = ""


class AgentSpec(ConversationModel):
    """What a subagent is, besides its conversation. `skill`: the one that it was assigned, without a model of its
    own: then `steps` says what is run, in an order in which each comes after those that it needs; `version`: the
    skill's, empty: not known; `params`: for the skill, as they were given. `plan`: what it executes, in place of a
    model."""

    name: str = Field(default="", max_length=MAX_NAME_CHARS)
    skill: str = ""
    version: str = ""
    params: dict[str, JsonValue] = Field(default_factory=dict)
    steps: tuple[ChainStep, ...] = ()
    plan: PlanSpec | None = None
    metadata: dict[str, JsonValue] = Field(default_factory=dict)

    @field_validator("metadata")
    @classmethod
    def _few_keys(cls, value: dict[str, JsonValue]) -> dict[str, JsonValue]:
        if len(value) > MAX_METADATA_KEYS:
            raise ValueError(f"has at most {MAX_METADATA_KEYS} keys, not {len(value)}")
        return value


class ChildRun(ConversationModel):
    """What a conversation keeps of one that it began. `key`: of the call that began it; `id`: the child's;
    `request`: what it is to do, until it is known to have begun. `status`: its terminal one, empty: it has not ended.
    `succeeded`, `shown`, `artifacts`: what a call that waits for it comes to by that; `usage`, `calls`: what it and
    its own children have used. `unwanted`: it was told to end, and nobody waits for it any more. `given`: what is
    kept for it of what its parent may use, as long as it is not known what it, or whoever it began, has
    used. `told`: a call was shown what it has come to."""

    key: str
    id: str
    name: str = ""
    skill: str = ""
    request: dict[str, Any] = Field(default_factory=dict)
    begun: bool = False
    status: str = ""
    succeeded: bool = False
    shown: str = ""
    artifacts: tuple[Artifact, ...] = ()
    usage: Usage = Usage()
    calls: int = 0
    unwanted: bool = False
    given: Limits | None = None
    told: bool = False

    def left(self) -> Self:
        """Unwanted from here on."""
        return self.model_copy(update={"unwanted": True, "request": {}})

    @property
    def turn(self) -> int:
        """In which it was begun."""
        return int(self.key.partition(".")[0])

    @property
    def open(self) -> bool:
        """It is to be heard of."""
        return not self.status and not self.unwanted

    @property
    def leaving(self) -> bool:
        """It was told to end, and what it has used is not known yet."""
        return self.unwanted and not self.status
