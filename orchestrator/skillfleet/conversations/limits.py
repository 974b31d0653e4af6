"""What a conversation may use, what it has used, and why it did not answer."""

from pydantic import BaseModel, ConfigDict, Field, JsonValue

DEFAULT_MAX_TURNS = 30
DEFAULT_TIMEOUT_SECONDS = 900.0
DEFAULT_WAIT_SECONDS = 86_400.0
LEAST_TIMEOUT_S = 0.001
DEFAULT_MAX_CHILDREN = 10

LAST_TURN_SHARE = 0.2
LAST_TURN_S = 30.0
"""Of its time a conversation keeps this share, and at most so much, for a last turn in which the model sums up."""

HURRIED_S = 5.0
"""What has less time than this keeps none of it for a last turn."""


class ConversationModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Limits(ConversationModel):
    """`timeout_s`: wall time from acceptance to the last word, seconds, but for the time in which it is paused or
    waits for a person; `wait_s`: how long it waits for a person at most. `max_cost`: in the currency of the prices.
    `max_children`: subagents of its own that are open at once. None: no limit."""

    max_turns: int = Field(default=DEFAULT_MAX_TURNS, ge=1, le=1000)
    timeout_s: float = Field(default=DEFAULT_TIMEOUT_SECONDS, gt=0, le=7 * 86400)
    wait_s: float = Field(default=DEFAULT_WAIT_SECONDS, gt=0, le=30 * 86400)
    max_tool_calls: int | None = Field(default=None, ge=0, le=100_000)
    max_input_tokens: int | None = Field(default=None, ge=1)
    max_output_tokens: int | None = Field(default=None, ge=1)
    max_cost: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    max_children: int = Field(default=DEFAULT_MAX_CHILDREN, ge=0, le=100)

    @property
    def reserve_s(self) -> float:
        """What is kept of the time for the last turn, seconds."""
        return 0.0 if self.timeout_s < HURRIED_S else min(LAST_TURN_S, LAST_TURN_SHARE * self.timeout_s)


class Usage(ConversationModel):
    """Tokens, as the provider counted them. `cached_input_tokens`, `cache_write_tokens`: those of the input that were
    read from, or written to, the provider's cache of prompts. `cost`: by the prices of the models; 0.0 where a model
    has none."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0
    cost: float = 0.0

    def plus(self, other: "Usage") -> "Usage":
        return Usage.model_validate({name: mine + getattr(other, name) for name, mine in self})

    def minus(self, other: "Usage") -> "Usage":
        return Usage.model_validate({name: mine - getattr(other, name) for name, mine in self})


class Problem(ConversationModel):
    """Why a conversation did not answer: a stable code, a sentence, and what to do about it."""

    code: str
    message: str
    fix: str = ""


class Divergence(ConversationModel):
    """Where the request of a turn (counted from 1) of a replayed conversation is no longer what was recorded: `place`
    in it (such as `messages[3].content`), what it was `then`, and `now`."""

    turn: int
    place: str
    then: JsonValue = None
    now: JsonValue = None
