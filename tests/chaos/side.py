"""What is compared under fire: a side takes conversations and says who holds what and what has ended."""

from dataclasses import dataclass, field
from typing import Literal, Protocol

from .crew import Post
from .roll import Roll

Kind = Literal["worker", "orchestrator", "redis"]
CALLS = 3
SCRIPT_S = 0.25
MODEL_S = 0.5
ANSWER = "1-2-3"
SLOTS_OF_A_WORKER = 2
ORCHESTRATORS, WORKERS = 2, 3


@dataclass(frozen=True, slots=True)
class Victim:
    """A live process in the midst of something, and the conversations that hang on it, where they are known;
    `post` None: redis."""

    kind: Kind
    post: Post | None
    held: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Kill:
    """`at`: seconds since the epoch."""

    kind: Kind
    at: float
    held: frozenset[str] = frozenset()


@dataclass(slots=True)
class Outcome:
    """What a side came to; `lost`: without an end, `wrong`: ended without the right answer, `twice`: with more than
    one. `violations` are told one by one."""

    conversations: int
    answered: int = 0
    lost: int = 0
    wrong: int = 0
    twice: int = 0
    given_up: int = 0
    results: int = 0
    starts: int = 0
    started_calls: int = 0
    model_turns_again: int = 0
    violations: list[str] = field(default_factory=list)
    recoveries: dict[str, list[float]] = field(default_factory=dict)
    silences: list[float] = field(default_factory=list)

    @property
    def extra_starts(self) -> int:
        return self.starts - self.started_calls


class Side(Protocol):
    name: str

    def submit(self, count: int) -> None: ...

    def victims(self, kind: Kind) -> list[Victim]:
        """Those in mid-script, in mid-model-call; redis: while either is so. Raises redis.ConnectionError."""
        ...

    @property
    def roll(self) -> Roll: ...

    def ended(self) -> int:
        """How many have their end. Raises redis.ConnectionError."""
        ...

    def outcome(self, kills: list[Kill]) -> Outcome: ...
