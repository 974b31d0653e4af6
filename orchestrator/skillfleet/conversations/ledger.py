"""The port to the ledger: where conversations live between two steps. The ledger is the truth, the queue a hint."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from skillfleet_workers.wire.calls import CallRecord

from ..events import Entry, Told
from .models import Conversation, ConversationSpec

LEASE_S = 15.0
"""How long a claimed conversation stays with its orchestrator without a sign of life, seconds."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A conversation in hand. Writes with a `fence` that is no longer the newest change nothing. `now` is the
    ledger's clock at the claim, seconds since the epoch."""

    conversation: Conversation
    fence: int
    now: float
    cancel: bool = False
    records: Mapping[str, CallRecord] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing is due. `wait_s`: until something will be, or None when nothing is open."""

    wait_s: float | None


class Ledger(Protocol):
    def submit(self, spec: ConversationSpec) -> float:
        """Accept: when this returns (the time of acceptance), the conversation is stored and due. Doing it again
        changes nothing."""
        ...

    def claim(self, only: str | None = None) -> Claim | Nothing:
        """Take what is due longest (or, of one conversation, what is due) for a lease; first what was cancelled."""
        ...

    def commit(self, fence: int, after: Conversation, told: Sequence[Told], due: float | None) -> bool:
        """Store one step; False when the fence is stale. With `due`, when to look again (seconds since the epoch),
        the lease ends; None keeps it. A terminal conversation is let go, and never due again."""
        ...

    def renew(self, conversation_id: str, fence: int) -> bool:
        """Start the lease anew; False when it is lost, or the conversation has to be ended: a cancellation,
        its deadline."""
        ...

    def release(self, conversation_id: str, fence: int) -> None:
        """Hand back, due now, so that another orchestrator goes on at once."""
        ...

    def cancel(self, conversation_id: str) -> bool:
        """Ask for the end; False when it had ended. Raises KeyError for an unknown id."""
        ...

    def load(self, conversation_id: str) -> Conversation | None: ...

    def newest(self, limit: int) -> list[Conversation]:
        """Without their messages, newest first."""
        ...

    def entries(self, conversation_id: str, after: str, wait_s: float) -> list[Entry]:
        """The stream beyond the cursor `after` ("0": from the beginning), waiting at most `wait_s` for the first."""
        ...

    def ended(self, conversation_id: str, wait_s: float) -> bool:
        """Whether it has its terminal status, waiting at most `wait_s` for it."""
        ...

    def wait(self, seconds: float) -> None:
        """Until the doorbell rings, at most `seconds`."""
        ...
