"""Messages of people to the conversations of a tree, and all that are sent on the fleet: a part of the Fleet."""

import uuid
from collections.abc import Iterator
from functools import partial
from typing import Any, cast

from pydantic import ValidationError

from skillfleet_workers.wire.keys import FleetKeys

from .errors import BadRequestError
from .events import PLACE
from .opened import Opened
from .outage import Outages
from .subagents.fork import descends
from .subagents.mailbox import (
    DEFAULT_PRIORITY,
    DEFAULT_TTL_S,
    SYSTEM,
    AgentMessage,
    Listening,
    MessageType,
    Refused,
    Sent,
)

SILENCE_S = 1.0

_REFUSED: dict[Refused, str] = {
    "unknown_sender": "nobody may send it",
    "unknown_recipient": "it is not in that tree of conversations",
    "recipient_ended": "it has ended, and reads no messages any more",
    "mailbox_full": "its mailbox is full; send again when it has read some",
    "no_such_request": "it waits for no answer under this correlation_id",
    "too_many_subscriptions": "it hears as many topics as it may",
}


class Mailing(Opened):
    def send(
        self,
        recipient_id: str | None = None,
        *,
        payload: dict[str, Any],
        topic: str | None = None,
        root: str | None = None,
        message_type: str = MessageType.EVENT,
        ttl: int = DEFAULT_TTL_S,
        priority: int = DEFAULT_PRIORITY,
        correlation_id: str | None = None,
    ) -> Sent:
        """A message from `system` to one conversation, or to all that hear the topic in the tree of `root`. A request
        is given a correlation_id, under which its answer comes (`messages` shows it).

        Raises:
            BadRequestError: it is no message, or it was refused.
        """
        if message_type == MessageType.REQUEST and correlation_id is None:
            correlation_id = str(uuid.uuid4())
        message = _message(
            message_id=str(uuid.uuid4()), sender_id=SYSTEM, recipient_id=recipient_id, topic=topic, payload=payload,
            message_type=message_type, ttl=ttl, priority=priority, correlation_id=correlation_id,
        )  # fmt: skip
        if recipient_id is None and root is None:
            raise BadRequestError("a topic is heard in one tree; name its first conversation as root (--root)")
        tree = self._load(recipient_id or root or "").root
        if root is not None and self._load(root).root != tree:
            raise BadRequestError(f"{recipient_id}: {_REFUSED['unknown_recipient']}")
        delivered = self._access.ledger.deliver(message.model_copy(update={"root": tree}), tree)
        if delivered.refused:
            raise BadRequestError(f"{recipient_id or topic}: {_REFUSED[delivered.refused]}")
        return Sent.of(message, delivered)

    def messages(
        self, topic: str | None = None, root: str | None = None, after: str = "$"
    ) -> Iterator[AgentMessage | None]:
        """What is sent on the fleet, to whomever: from now on, or (`after` "0") from the first that is kept; None
        about every second of silence. `topic`: a topic, or a pattern (`navigation.*`); `root`: of one tree alone.

        Waits for a redis that is away, about a minute, and goes on where it was.

        Raises:
            BadRequestError: no such pattern; or `after` stands for no place.
        """
        if after != "$" and not PLACE.fullmatch(after):
            raise BadRequestError(
                f"no place among the messages: {after!r}; give '0', or '$' for what comes from now on"
            )
        listening, tree = _listening(topic), self._load(root).root if root else ""
        kept = "what was sent is kept, `skillfleet messages tail --all` shows it"
        outages = Outages(self._notice, self._access.look_after, kept)
        cursor = outages.wait_for(self._last_sent) if after == "$" else after
        while True:
            told = outages.attempt(partial(self._access.ledger.sent, cursor, SILENCE_S))
            if not told:
                yield None
                continue
            cursor, _ = told[-1]
            heard = (message for _, message in told if listening.hears(message))
            yield from (message for message in heard if not tree or _is_in(message, tree))

    def _last_sent(self) -> str:
        """Whoever asked for what comes from now on again and again would miss what comes in between."""
        stream = FleetKeys(self.settings.fleet).messages
        newest = cast(list[tuple[str, Any]], self._access.ledger.client.xrevrange(stream, count=1))
        return newest[0][0] if newest else "0"


def _is_in(message: AgentMessage, root: str) -> bool:
    recipient = message.recipient_id or ""
    return root in (message.root, recipient) or descends(recipient, root)


def _message(**given: Any) -> AgentMessage:
    try:
        return AgentMessage.model_validate(given)
    except ValidationError as wrong:
        raise BadRequestError(_first(wrong, "the message")) from None


def _listening(topic: str | None) -> Listening:
    try:
        return Listening(topic=topic)
    except ValidationError as wrong:
        raise BadRequestError(_first(wrong, "the topic")) from None


def _first(wrong: ValidationError, what: str) -> str:
    problem = wrong.errors(include_url=False)[0]
    place = str(problem["loc"][0]) if problem["loc"] else what
    ours = problem["msg"].removeprefix("Value error, ")
    return f"{place}{' ' if ours != problem['msg'] else ': '}{ours}"
