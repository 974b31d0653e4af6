"""What the history answers besides single executions."""

from dataclasses import asdict, astuple, dataclass

from pydantic import AwareDatetime, BaseModel, ConfigDict, computed_field


class SkillStats(BaseModel):
    """Of the executions of one version of a skill that have ended, however. `p50_ms`, `p95_ms`: half of them, and 95
    of 100, took no longer; at most 1% away from the truth."""

    model_config = ConfigDict(frozen=True)

    skill_name: str
    skill_version: str
    count: int
    failed: int
    timeout: int
    p50_ms: float
    p95_ms: float

    @computed_field  # type: ignore[prop-decorator]
    @property
    def failure_rate(self) -> float:
        """Of those that failed or took too long."""
        return round((self.failed + self.timeout) / self.count, 6)


class ArchivedConversation(BaseModel):
    """`prompt`: how it begins. `state`: seed 002's."""

    model_config = ConfigDict(frozen=True)

    agent_id: str
    name: str
    state: str
    status: str
    tenant: str
    model: str
    assigned_skill: str | None
    error: str | None
    prompt: str
    answer: str | None
    parent_id: str | None
    root_id: str
    depth: int
    turns: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    created_at: AwareDatetime
    started_at: AwareDatetime | None
    completed_at: AwareDatetime | None


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many rows were removed."""

    conversations: int = 0
    executions: int = 0
    messages: int = 0
    statistics: int = 0

    def __bool__(self) -> bool:
        return any(astuple(self))

    def __str__(self) -> str:
        told = [f"{number} {name}" for name, number in asdict(self).items() if number]
        return ", ".join(told) or "nothing"

    def __add__(self, other: "Pruned") -> "Pruned":
        return Pruned(*map(sum, zip(astuple(self), astuple(other), strict=True)))
