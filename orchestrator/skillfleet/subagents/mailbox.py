"""Messages between subagents (seed 002), and the rules of what may be sent (pure)."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, JsonValue, model_validator

from skillfleet_workers.wire.contract import CallRef
from skillfleet_workers.wire.plain_json import written
from skillfleet_workers.wire.published import TOPIC_NAME
from skillfleet_workers.wire.uuids import is_uuid4

from ..conversations.limits import ConversationModel

SYSTEM = "system"
"""The sender of what people and SkillFleet itself send."""

DEFAULT_TTL_S = 60
MAX_TTL_S = 3600
DEFAULT_PRIORITY = 5
MAX_PAYLOAD_BYTES = 32_768
MAX_MAILBOX = 256
"""Most messages that wait in one mailbox."""

MAX_SUBSCRIPTIONS = 20
"""Most topics that one subagent hears."""

MAX_GIVEN_BYTES = MAX_PAYLOAD_BYTES
"""Of all payloads that one call is given at once: any one message fits."""

MAX_TOPIC_CHARS = 200
TOPIC = TOPIC_NAME
PATTERN = r"(\*|[A-Za-z0-9_-]+)(\.(\*|[A-Za-z0-9_-]+))*"
"""What is subscribed to: a topic, in which `*` stands for one word; as the last one, for one or more."""


class MessageType(StrEnum):
    EVENT = "event"
    REQUEST = "request"
    RESPONSE = "response"
    ERROR = "error"


def _uuid(value: str) -> str:
    if not is_uuid4(value):
        raise ValueError("is no UUID of version 4")
    return value


def payload_bytes(payload: dict[str, JsonValue]) -> int:
    return len(json.dumps(payload, ensure_ascii=False).encode())


def _small(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    size = len(written(value))
    if size > MAX_PAYLOAD_BYTES:
        raise ValueError(f"has {size} bytes, and a message at most {MAX_PAYLOAD_BYTES}")
    return value


def _topic(value: str) -> str:
    if len(value) > MAX_TOPIC_CHARS or not re.fullmatch(TOPIC, value):
        raise ValueError(f"{_TOPIC_RULE}, such as navigation.complete")
    return value


def _pattern(value: str) -> str:
    if len(value) > MAX_TOPIC_CHARS or not re.fullmatch(PATTERN, value):
        raise ValueError(f"{_TOPIC_RULE}, in which * stands for a word, such as navigation.*")
    return value


_TOPIC_RULE = f"needs words of letters, digits, - and _ with dots between them, at most {MAX_TOPIC_CHARS} characters"


def fits(pattern: str, topic: str) -> bool:
    """Whether who subscribed to `pattern` hears `topic`. Its twin is in wire/mail.lua."""
    asked, words = pattern.split("."), topic.split(".")
    last = len(asked) == len(words) or (asked[-1] == "*" and len(asked) < len(words))
    return last and all(one in ("*", word) for one, word in zip(asked, words, strict=False))


Uuid = Annotated[str, AfterValidator(_uuid)]


class AgentMessage(ConversationModel):
    """Seed 002's Message. `sender_id`, `recipient_id`: ids of conversations, or SYSTEM. `topic`: of a broadcast, None
    of a direct one. `timestamp`: when it was delivered, seconds since the epoch by the ledger's clock; 0.0: not yet.
    `ttl`: seconds from then on, after which it is delivered to nobody. `priority`: 1 comes first. `correlation_id`:
    of a request and of what answers it. `root`: the conversation at the top of the tree that it goes through."""

    message_id: Uuid
    sender_id: str = Field(min_length=1)
    message_type: MessageType
    payload: Annotated[dict[str, JsonValue], AfterValidator(_small)]
    topic: Annotated[str, AfterValidator(_topic)] | None = None
    recipient_id: str | None = None
    timestamp: float = 0.0
    ttl: int = Field(default=DEFAULT_TTL_S, ge=1, le=MAX_TTL_S)
    priority: int = Field(default=DEFAULT_PRIORITY, ge=1, le=10)
    correlation_id: Uuid | None = None
    root: str = ""

    @model_validator(mode="after")
    def _addressed(self) -> Self:
        if (self.topic is None) == (self.recipient_id is None):
            raise ValueError("needs either a topic or a recipient_id")
        if self.topic is not None and self.message_type != MessageType.EVENT:
            raise ValueError(f"needs a recipient_id: it is a {self.message_type}, and only events have a topic")
        if self.message_type in (MessageType.REQUEST, MessageType.RESPONSE) and self.correlation_id is None:
            raise ValueError(f"needs a correlation_id: it is a {self.message_type}")
        return self

    @property
    def expires_at(self) -> float:
        return self.timestamp + self.ttl


@dataclass(frozen=True, slots=True)
class Mail:
    """A message in a mailbox; `place`: where, for who takes it out."""

    place: str
    message: AgentMessage


Refused = Literal[
    "unknown_sender",
    "unknown_recipient",
    "recipient_ended",
    "mailbox_full",
    "no_such_request",
    "too_many_subscriptions",
]
"""`unknown_sender`: it is not in the tree, or has ended."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """What became of a message, or of a subscription: `to` how many mailboxes it went, or why to none (`refused`)."""

    to: int = 0
    refused: Refused | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        return cls(**json.loads(text))

    def json(self) -> str:
        return json.dumps({"to": self.to, "refused": self.refused})


class Listening(ConversationModel):
    """What a call waits for: messages that fit (`topic` a pattern, `correlation_id`), at most `limit` of them."""

    limit: int = 10
    topic: Annotated[str, AfterValidator(_pattern)] | None = None
    correlation_id: str | None = None

    def hears(self, message: AgentMessage) -> bool:
        if self.topic is not None and not (message.topic and fits(self.topic, message.topic)):
            return False
        return self.correlation_id in (None, message.correlation_id)


def correlation_of(call: CallRef) -> str:
    """The text of which the id of a request is made that its sender gave none."""
    return f"{call.call_id}:correlation"


class Sent(ConversationModel):
    """What its sender is told of a message that went out."""

    message_id: str
    correlation_id: str | None = None
    delivered_to: int

    @classmethod
    def of(cls, message: AgentMessage, delivered: Delivered) -> Self:
        return cls(message_id=message.message_id, correlation_id=message.correlation_id, delivered_to=delivered.to)


def pick(mail: Sequence[Mail], listening: Listening, now: float) -> tuple[Mail, ...]:
    """What a call is given of it: what it listens for and has not expired, the most urgent first, then what came
    first."""
    heard = [one for one in mail if now < one.message.expires_at and listening.hears(one.message)]
    ordered = sorted(heard, key=lambda one: one.message.priority)[: listening.limit]
    given: list[Mail] = []
    room = MAX_GIVEN_BYTES
    for one in ordered:
        room -= payload_bytes(one.message.payload)
        if room < 0:
            break
        given.append(one)
    return tuple(given)


def orphaned(recipient_id: str, status: str, root: str) -> dict[str, JsonValue]:
    """What whoever waits for an answer of a conversation that has ended is told; the ledger adds to whom, and of what
    request."""
    return {
        "sender_id": SYSTEM,
        "message_type": MessageType.ERROR.value,
        "payload": {"error": "recipient_ended", "recipient_id": recipient_id, "status": status},
        "topic": None,
        "priority": DEFAULT_PRIORITY,
        "root": root,
    }
