"""Messages in redis: to deliver one, and to subscribe, are one Lua call each."""

from collections.abc import Sequence

import redis
from redis.commands.core import Script

from skillfleet_workers.wire import keys
from skillfleet_workers.wire.contract import CallRef

from ..subagents.mailbox import MAX_MAILBOX, MAX_SUBSCRIPTIONS, SYSTEM, AgentMessage, Delivered, Mail
from .acceptance import MAX_WAIT_S
from .stored import pages, paired

MOST_READ = 500
"""Messages of the fleet in one answer, each of which may have 32 KB."""


class MailInRedis:
    _client: redis.Redis
    _blocking: redis.Redis
    _messages: str
    _ttl_s: int
    _deliver: Script
    _subscribe: Script

    def deliver(self, message: AgentMessage, root: str, call: CallRef | None = None) -> Delivered:
        args: list[str | int] = [
            root, message.sender_id, message.recipient_id or "", message.topic or "", message.message_type,
            message.correlation_id or "", message.ttl, message.model_dump_json(exclude={"timestamp"}),
            SYSTEM, MAX_MAILBOX, self._ttl_s, keys.POSTED_S, *_of(call),
        ]  # fmt: skip
        names = [keys.posted(root, message.message_id), self._messages]
        return Delivered.parse(self._deliver(keys=names, args=args))

    def subscribe(self, conversation_id: str, pattern: str, root: str, call: CallRef | None = None) -> Delivered:
        args: list[str | int] = [conversation_id, pattern, root, MAX_SUBSCRIPTIONS, *_of(call)]
        return Delivered.parse(self._subscribe(keys=[keys.topics(root)], args=args))

    def sent(self, after: str, wait_s: float) -> list[tuple[str, AgentMessage]]:
        block = int(min(wait_s, MAX_WAIT_S) * 1000) or None
        read = pages(self._blocking.xread({self._messages: after}, count=MOST_READ, block=block)).get(
            self._messages, ()
        )
        return [(cursor, AgentMessage.model_validate_json(fields["message"])) for cursor, fields in read]


def mail_of(flat: Sequence[str]) -> tuple[Mail, ...]:
    """A mailbox as a script answers it."""
    return tuple(Mail(place, AgentMessage.model_validate_json(text)) for place, text in paired(flat).items())


def _of(call: CallRef | None) -> list[str]:
    return [call.conversation_id, call.key] if call else []
