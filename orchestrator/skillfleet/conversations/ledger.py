"""The port to the ledger: where conversations live between two steps. The ledger is the truth, the queue a hint."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from skillfleet_workers.wire.calls import CallRecord
from skillfleet_workers.wire.contract import CallRef

from ..events import Entry, LiveTold, Told
from ..subagents.mailbox import AgentMessage, Delivered, Mail
from .models import Conversation, ConversationSpec, Status
from .runs import Decision, ToolRun
from .schedule import LEAST_ROOMS, RECOVERY_S, Rooms, lease_s

MAX_DEAD = 10_000
"""Most dead calls that are listed."""

FORMAT = 5
"""Of what is stored of a conversation. It is raised with a field that an older orchestrator must not drop: what has a
higher one than ours is left to the orchestrators that know it."""

LEFT_ALONE_S = 1.0
"""After this long they are given the next chance, seconds."""

LEASE_S = lease_s(RECOVERY_S)

DecidedAs = Literal["decided", "decided_before", "other_kind", "not_asked", "ended"]
"""What became of a person's word: `decided_before`: another one was said first; `other_kind`: an answer where leave
is waited for, or the other way round; `not_asked`: the call waits for nobody, or there is none; `ended`: the
conversation has, or is about to."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A conversation in hand. Writes with a `fence` that is no longer the newest change nothing. `now` is the
    ledger's clock at the claim, seconds since the epoch. `overtaken_at`, by route: calls that had their place in its
    tool queue well before this, and still have it, have lost their message. `released`: as in Written. `idle_s`: for
    how long nothing else is due, unless the doorbell rings; 0: something may be. `mailbox`: of one of whose calls
    some listen, what is in its mailbox and has not expired, in the order in which it came."""

    conversation: Conversation
    fence: int
    now: float
    cancel: bool = False
    records: Mapping[str, CallRecord] = field(default_factory=dict)
    pause: bool = False
    overtaken_at: Mapping[str, float] = field(default_factory=dict)
    released: tuple[str, ...] = ()
    idle_s: float = 0.0
    mailbox: tuple[Mail, ...] = ()


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing is due. `wait_s`: until something will be, or None when nothing is open. `released`: as in Written."""

    wait_s: float | None
    released: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """A step is stored. `released`: the calls, of whichever conversation, that were given a place in the tool queue
    on the way; they are to be sent now."""

    released: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Accepted:
    """`id` is that of another conversation where one of the tenant's has the idempotency key already; empty: of a
    child that its parent does not wait for (any more), nothing is stored. `at`: when it was accepted, seconds since
    the epoch."""

    id: str
    at: float


@dataclass(frozen=True, slots=True)
class DeadCall:
    """A call that was given up because it was lost while it ran, and the conversation (without its messages)
    that made it; `at`: when, seconds since the epoch."""

    conversation: Conversation
    run: ToolRun
    at: float


@dataclass(frozen=True, slots=True)
class LiveWords:
    """What is told live of a conversation by whoever holds it with this fence."""

    conversation_id: str
    fence: int
    told: Sequence[LiveTold]


def dead_call(kept: Mapping[str, Conversation], call_id: str, at: float) -> DeadCall | None:
    """None: its conversation is gone."""
    conversation = kept.get(CallRef.of_call(call_id).conversation_id)
    if conversation is None:
        return None
    return next((DeadCall(conversation, run, at) for run in conversation.dead if run.ref.call_id == call_id), None)


def out_calls(kept: Mapping[str, Conversation], call_ids: Sequence[str]) -> list[tuple[Conversation, ToolRun]]:
    """Those of the calls that workers have, or are to have, with their conversations."""
    wanted = [(kept.get(CallRef.of_call(call_id).conversation_id), call_id) for call_id in call_ids]
    return [(one, run) for one, call_id in wanted if one for run in one.with_workers if run.ref.call_id == call_id]


class Ledger(Protocol):
    def submit(self, *specs: ConversationSpec) -> list[Accepted]:
        """Accept: when this returns, each conversation is stored and due, in the order given. Doing it again changes
        nothing, nor does a tenant's second conversation with the idempotency key of one that is kept. The stream of a
        child's parent tells that the child has begun."""
        ...

    def claim(self, only: str | None = None, rooms: Rooms = LEAST_ROOMS) -> Claim | Nothing:
        """Take what is due (or, of one conversation, what is due) for a lease. First what only has to be ended; then
        tenants take turns, each with its highest priority, what has begun, what has been due longest.

        `rooms`: most calls that may have a place in the tool queues before a worker starts them."""
        ...

    def commit(
        self,
        fence: int,
        after: Conversation,
        told: Sequence[Told],
        due: float | None,
        sends: Sequence[ToolRun] = (),
        rooms: Rooms = LEAST_ROOMS,
        taken: Sequence[str] = (),
    ) -> Written | None:
        """Store one step; None when the fence is stale. With `due`, when to look again (seconds since the epoch),
        the lease ends; None keeps it, unless a pause was asked for: then the step is stored, the conversation due
        at once, and the answer None. A step that gives up a call whose result came in since the claim is refused,
        and the conversation due at once. A terminal conversation is let go, and never due again; its children are
        cancelled, and its parent is due with what the call that it worked on has come to, if that waits for it.

        `taken`: places in its mailbox, which are emptied. Requests that wait for its answer when it ends are answered
        with an error.

        The calls `sends` wait for a place in the tool queue of their route, which they are given in turn, at once
        while there is room."""
        ...

    def awake_s(self) -> float:
        """For how long it can have been written to without a break, seconds; 0 where that can't be told."""
        ...

    def release_calls(self, rooms: Rooms) -> tuple[str, ...]:
        """Calls whose turn has come: as in Written."""
        ...

    def calls(self, call_ids: Sequence[str]) -> list[tuple[Conversation, ToolRun]]:
        """Those that are still out, with their conversations (without messages)."""
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

    def pause(self, conversation_id: str) -> bool:
        """From now on no call of it is started, and its deadline waits; False when it had ended. Raises KeyError."""
        ...

    def resume(self, conversation_id: str) -> bool:
        """It goes on at once; False when it had ended. Raises KeyError."""
        ...

    def decide(self, conversation_id: str, key: str, decision: Decision) -> DecidedAs:
        """What a person says of a call (CallRef.key) that waits for it: the first word counts, to say it again
        changes nothing, and the conversation goes on at once. Raises KeyError for an unknown id."""
        ...

    def deliver(self, message: AgentMessage, root: str, call: CallRef | None = None) -> Delivered:
        """Put it into the mailbox of its recipient, or of all that hear its topic in the tree of `root`, but for its
        sender; whose calls listen is due now. A second one with its message_id changes nothing, and answers as the
        first. Its timestamp is that of this moment. The stream of its sender (of what SYSTEM sends: of its recipient,
        or of `root`) tells that it was `sent`, and so does the stream of the fleet's messages.

        Refused: a recipient that is not in the tree, has ended, or whose mailbox is full (others that hear a topic
        still get it); an answer to what was not asked, or not by its recipient.

        `call`: the sender's, which has come to this (CallRecord.posted); the sender is due now."""
        ...

    def subscribe(self, conversation_id: str, pattern: str, root: str, call: CallRef | None = None) -> Delivered:
        """From now on the conversation is sent what is published in its tree under topics that fit. `call`: as in
        `deliver`."""
        ...

    def states(self, conversation_ids: Sequence[str]) -> dict[str, Status]:
        """Of those that are kept."""
        ...

    def sent(self, after: str, wait_s: float) -> list[tuple[str, AgentMessage]]:
        """The messages of the fleet beyond the cursor `after` ("0": from the first that is kept, "$": from now on),
        each with its own cursor, waiting at most `wait_s` for the first. Of many only those that come next."""
        ...

    def load(self, conversation_id: str) -> Conversation | None: ...

    def newest(self, limit: int, skip: int = 0) -> list[Conversation]:
        """Without their messages, newest first; `skip`: but for so many that are newer."""
        ...

    def dead(self, limit: int) -> list[DeadCall]:
        """The calls that were given up last, newest first, as long as their conversations are kept."""
        ...

    def find_dead(self, call_id: str) -> DeadCall | None: ...

    def tell_live(self, *words: LiveWords) -> list[bool]:
        """Told to those who follow now, in the live streams, which are bounded and forget; False where the fence is
        stale, or the conversation has to be ended."""
        ...

    def entries(self, conversation_id: str, after: str, wait_s: float, live: str | None = None) -> list[Entry]:
        """The stream beyond the cursor `after` ("0": from the beginning), waiting at most `wait_s` for the first.
        With `live` the live stream beyond that cursor of its own as well, in its place among the events."""
        ...

    def ended(self, conversation_id: str, wait_s: float) -> bool:
        """Whether it has its terminal status, waiting at most `wait_s` for it."""
        ...

    def wait(self, seconds: float) -> None:
        """Until the doorbell rings, at most `seconds`."""
        ...
