"""Trees of conversations that send each other messages, on either ledger."""

from typing import Any

from tests.conformance.ledgers import World, claimed
from tests.conversation_steps import make_spec

from skillfleet.conversations.ledger import Claim
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.runs import ToolRun
from skillfleet.subagents.mailbox import AgentMessage, Delivered, Listening, MessageType
from skillfleet_workers.wire.contract import CallRef
from skillfleet_workers.wire.uuids import uuid_of

ROOT = "r"
CORRELATION = uuid_of("a question")


def tree(world: World, *names: str, root: str = ROOT) -> None:
    """The conversation at the top, and those below it."""
    world.ledger.submit(make_spec(root, timeout_s=86_400))
    for name in names:
        world.ledger.submit(make_spec(name, timeout_s=86_400).model_copy(update={"root": root}))


def message(number: int = 0, **given: Any) -> AgentMessage:
    direct = {} if given.get("topic") else {"recipient_id": "b"}
    known = {"message_id": uuid_of(str(number)), "sender_id": "a", "message_type": MessageType.EVENT, "payload": {}}
    return AgentMessage.model_validate(known | direct | given)


def deliver(world: World, number: int = 0, **given: Any) -> Delivered:
    return world.ledger.deliver(message(number, **given), ROOT)


def asked(world: World, number: int = 0, **given: Any) -> Delivered:
    """`a` asks `b`."""
    return deliver(world, number, **{"message_type": "request", "correlation_id": CORRELATION} | given)


def answered(world: World, number: int = 1, **given: Any) -> Delivered:
    reply = {"sender_id": "b", "recipient_id": "a", "message_type": "response", "correlation_id": CORRELATION}
    return deliver(world, number, **reply | given)


def with_call(conversation: Conversation, index: int = 0, **call: Any) -> Conversation:
    """It makes one more call of the orchestrator's own."""
    ref = CallRef(conversation_id=conversation.id, turn=1, index=index)
    run = ToolRun(ref=ref, tool_call_id=str(index), name="receive_messages", own=True, begun=True, **call)
    return conversation.model_copy(update={"status": "running", "turn": 1, "runs": (*conversation.runs, run)})


def store(
    world: World, claim: Claim, after: Conversation, *, taken: tuple[str, ...] = (), due_in: float | None = 600
) -> bool:
    due = None if due_in is None else claim.now + due_in
    return world.ledger.commit(claim.fence, after, [], due, taken=taken) is not None


def listen(world: World, name: str = "b") -> None:
    claim = claimed(world, name)
    assert store(world, claim, with_call(claim.conversation, listens=Listening()))


def read(world: World, name: str = "b") -> list[AgentMessage]:
    """Claimed and let go, with what is in its mailbox left there."""
    claim = claimed(world, name)
    assert store(world, claim, claim.conversation)
    return [mail.message for mail in claim.mailbox]


def end(world: World, name: str = "b") -> None:
    world.ledger.cancel(name)
    claim = claimed(world, name)
    assert store(world, claim, claim.conversation.model_copy(update={"status": "cancelled"}), due_in=None)


def told(world: World, name: str) -> list[dict[str, Any]]:
    """Of what was sent."""
    return [entry.data for entry in world.ledger.entries(name, "0", 0) if entry.type == "sent"]


def told_to_fleet(world: World) -> list[AgentMessage]:
    return [one for _, one in world.ledger.sent("0", 0)]
