"""Calls that send messages, subscribe to topics, or wait for messages (pure)."""

import json
from typing import Any

from pydantic import ValidationError

from skillfleet_workers.wire.contract import ToolError, WireModel
from skillfleet_workers.wire.shown import shown_to_model
from skillfleet_workers.wire.uuids import uuid_of

from ..subagents.mailbox import (
    MAX_SUBSCRIPTIONS,
    AgentMessage,
    Delivered,
    Listening,
    Mail,
    Refused,
    Sent,
    correlation_of,
)
from ..tools.dispatch import misfit
from ..tools.own import OWN_TOOLS, Publish, ReceiveMessages, SendMessage, SubscribeTopic
from .ending import Moved, close_turn, replace
from .models import Conversation
from .moves import Deliver, MailCame, Posted, Subscribe, TakeMail, Unposted, WaitOver
from .runs import ToolRun

PARENT = "parent"

_REFUSED: dict[Refused, tuple[str, str]] = {
    "unknown_sender": ("You are no agent of this task any more.", "End with your answer."),
    "unknown_recipient": (
        "There is no agent {recipient!r} in this task.",
        "Name an agent_id that spawn_subagent gave, the sender_id of a message that you got, or 'parent'.",
    ),
    "recipient_ended": (
        "The agent {recipient!r} has ended, and reads no messages any more.",
        "Go on without it; await_subagents tells what a subagent of your own has come to.",
    ),
    "mailbox_full": (
        "The mailbox of {recipient!r} is full: it has not read what it was sent.",
        "Wait before you send it more, or put what you have to say into fewer messages.",
    ),
    "no_such_request": (
        "{recipient!r} waits for no answer of yours under this correlation_id.",
        "Answer a request once, to its sender_id, before its time is over; anything else send as an event.",
    ),
    "too_many_subscriptions": (
        f"You hear {MAX_SUBSCRIPTIONS} topics, and more are not possible.",
        "Go on with those; a pattern such as 'navigation.*' would have stood for several.",
    ),
}


def begin_mail(conversation: Conversation, run: ToolRun, now: float) -> Moved:
    try:
        asked = OWN_TOOLS[run.name].request.model_validate(run.request)
        if isinstance(asked, ReceiveMessages):
            return _listening(conversation, run, asked, now), []
        effect = _effect(conversation, run, asked)
    except ValidationError as wrong:
        effect = misfit(run.name, wrong)
    if isinstance(effect, ToolError):
        return replace(conversation, run.refuse(effect)), []
    return replace(conversation, run.model_copy(update={"begun": True, "sent_at": now})), [effect]


def mail_told(
    conversation: Conversation, run: ToolRun, event: MailCame | WaitOver | Posted | Unposted, now: float
) -> Moved:
    match event:
        case Unposted() if not run.listens:
            return begin_mail(conversation, run, now)
        case Posted(delivered=delivered) if not run.listens:
            return _answered(conversation, _posted(conversation, run, delivered), now)
        case MailCame(mail=mail) if run.listens:
            moved, effects = _answered(conversation, _succeeded(run, _shown(mail, now)), now)
            return moved, [TakeMail(run.key, mail), *effects]
        case WaitOver() if run.listens:
            nothing = f"[]\nNo message that fits has come within {run.request.get('timeout', _TIMEOUT):g} s."
            return _answered(conversation, _succeeded(run, nothing), now)
    return conversation, []


_TIMEOUT: float = ReceiveMessages.model_fields["timeout"].default


def _answered(conversation: Conversation, run: ToolRun, now: float) -> Moved:
    moved = replace(conversation, run)
    return (moved, []) if moved.out else close_turn(moved, now)


def _succeeded(run: ToolRun, shown: str) -> ToolRun:
    return run.model_copy(update={"status": "succeeded", "shown": shown})


def _listening(conversation: Conversation, run: ToolRun, asked: ReceiveMessages, now: float) -> Conversation:
    listens = Listening(limit=asked.limit, topic=asked.topic, correlation_id=asked.correlation_id)
    until = now - conversation.paused_s + asked.timeout
    return replace(conversation, run.model_copy(update={"begun": True, "listens": listens, "until": until}))


def _effect(conversation: Conversation, run: ToolRun, asked: WireModel) -> Deliver | Subscribe | ToolError:
    """
    Raises:
        ValidationError: it is no message, or no pattern.
    """
    if isinstance(asked, SubscribeTopic):
        return Subscribe(run.key, Listening(topic=asked.topic).topic or "")
    message = _message(conversation, run, asked)
    return message if isinstance(message, ToolError) else Deliver(run.key, message)


def _message(conversation: Conversation, run: ToolRun, asked: WireModel) -> AgentMessage | ToolError:
    given: dict[str, Any] = asked.model_dump()
    if isinstance(asked, SendMessage):
        given["recipient_id"] = recipient = _recipient(conversation, asked.recipient_id)
        if isinstance(recipient, ToolError):
            return recipient
        if asked.message_type == "request" and asked.correlation_id is None:
            given["correlation_id"] = uuid_of(correlation_of(run.ref))
    elif isinstance(asked, Publish):
        given["message_type"] = "event"
    own = {"message_id": uuid_of(run.ref.call_id), "sender_id": conversation.id, "root": conversation.root}
    return AgentMessage.model_validate(given | own)


def _recipient(conversation: Conversation, named: str) -> str | ToolError:
    if named == PARENT:
        if conversation.spec.parent_call:
            return conversation.spec.parent_id or ""
        why = "You have no parent: nobody started you but the user.", "Tell the user in your answer."
        return ToolError(error="no_parent", message=why[0], fix=why[1])
    if named == conversation.id:
        fix = "Name another agent of this task, or 'parent'."
        return ToolError(error="own_message", message="This agent_id is your own.", fix=fix)
    return named


def _posted(conversation: Conversation, run: ToolRun, delivered: Delivered) -> ToolRun:
    asked = OWN_TOOLS[run.name].request.model_validate(run.request)
    if delivered.refused:
        why, fix = _REFUSED[delivered.refused]
        told = why.format(recipient=run.request.get("recipient_id", ""))
        error = ToolError(error=delivered.refused, message=told, fix=fix)
        return run.model_copy(update={"status": "tool_error", "shown": shown_to_model(error)})
    if isinstance(asked, SubscribeTopic):
        return _succeeded(run, f"From now on receive_messages brings what is published under {asked.topic}.")
    message = _message(conversation, run, asked)
    assert isinstance(message, AgentMessage)
    return _succeeded(run, Sent.of(message, delivered).model_dump_json(exclude_none=True))


def _shown(mail: tuple[Mail, ...], now: float) -> str:
    return json.dumps([_seen(one.message, now) for one in mail], ensure_ascii=False)


def _seen(message: AgentMessage, now: float) -> dict[str, Any]:
    known = message.model_dump(mode="json", exclude={"recipient_id", "timestamp", "ttl", "root"}, exclude_none=True)
    return {**known, "age": round(max(0.0, now - message.timestamp), 1)}
