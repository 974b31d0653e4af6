"""Messages between subagents, each in one line."""

import json
import time

from skillfleet_workers.wire.shown import short

from ..events import Entry
from ..subagents.mailbox import AgentMessage

PAYLOAD_CHARS = 200


def message_line(message: AgentMessage) -> str:
    when = time.strftime("%H:%M:%S", time.localtime(message.timestamp))
    payload = short(json.dumps(message.payload, ensure_ascii=False), PAYLOAD_CHARS)
    return f"{when} {message.sender_id} -> {message.recipient_id or message.topic} {message.message_type} {payload}"


def mail_line(entry: Entry) -> str:
    """Of the events that tell of messages; of others nothing."""
    if entry.type == "sent":
        return f"message {message_line(AgentMessage.model_validate(entry.data))}"
    if entry.type == "handed":
        count = len(entry.data["message_ids"])
        return f"{entry.data['key']}: given {count} message{'' if count == 1 else 's'}"
    return ""
