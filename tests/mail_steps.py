"""Conversations that send and hear messages, for tests."""

from typing import Any

from tests.conversation_steps import NOW, after, asks, awaiting_model, call

from skillfleet.conversations.models import Conversation
from skillfleet.conversations.schedule import Sight
from skillfleet.subagents.mailbox import AgentMessage, Mail, MessageType
from skillfleet.tools.definitions import definition
from skillfleet.tools.own import MESSAGING
from skillfleet_workers.wire.calls import CallRecord
from skillfleet_workers.wire.uuids import uuid_of

CHILD = {"parent_id": "c1", "parent_call": "c1.1.0", "root": "c1", "depth": 1}
TOOLS = tuple(definition(tool) for tool in MESSAGING)


def talking(name: str = "c1-1-0", **spec: Any) -> Conversation:
    """A child that may send messages and waits for its model."""
    begun = awaiting_model(name)
    own = {**CHILD, "subagents": True, "tools": (*begun.spec.tools, *TOOLS), **spec}
    return begun.model_copy(update={"spec": begun.spec.model_copy(update=own)})


def calling(tool: str, **arguments: Any) -> Conversation:
    return after(talking(), asks(call(tool, **arguments)))


def message(name: str = "m", **about: Any) -> AgentMessage:
    own = {"message_id": uuid_of(name), "sender_id": "c1", "recipient_id": "c1-1-0", "timestamp": NOW}
    return AgentMessage.model_validate({"message_type": MessageType.EVENT, "payload": {"of": name}, **own, **about})


def mail(name: str = "m", **about: Any) -> Mail:
    return Mail(name, message(name, **about))


def published(name: str, topic: str, **about: Any) -> Mail:
    return mail(name, topic=topic, recipient_id=None, **about)


def sight(*box: Mail, now: float = NOW, **more: Any) -> Sight:
    return Sight(now, mailbox=box, **more)


def posted(text: str) -> dict[str, CallRecord]:
    """What the ledger says of the first call."""
    return {"1.0": CallRecord(0, 0.0, "", None, posted=text)}
