"""Calls that send messages and subscribe, step by step."""

import json
from typing import Any

import pytest
from tests.conversation_steps import NOW, after, asks, call, last_effects, list_skills
from tests.mail_steps import calling, posted, sight, talking

from skillfleet.conversations.engine import step
from skillfleet.conversations.mail_looks import UNPOSTED_S
from skillfleet.conversations.models import Conversation, Rule
from skillfleet.conversations.moves import CallModel, Decided, Deliver, Paused, Posted, Resumed, Subscribe, Unposted
from skillfleet.conversations.runs import Decision
from skillfleet.conversations.schedule import next_due, observe
from skillfleet.events import changes
from skillfleet.subagents.mailbox import MAX_PAYLOAD_BYTES, Delivered, MessageType, Refused
from skillfleet_workers.wire.uuids import is_uuid4, uuid_of

CORRELATION = uuid_of("question")


def sent(tool: str = "send_message", **arguments: Any) -> Deliver:
    (effect,) = last_effects(talking(), asks(call(tool, **arguments)))
    assert isinstance(effect, Deliver)
    return effect


def told(conversation: Conversation) -> dict[str, Any]:
    last: dict[str, Any] = json.loads(conversation.messages[-1].content or "")
    return last


def refused(tool: str = "send_message", conversation: Conversation | None = None, **arguments: Any) -> dict[str, Any]:
    moved, effects = step(conversation or talking(), asks(call(tool, **arguments)), NOW)
    assert effects == [CallModel()]
    return told(moved)


def test_a_message_goes_to_whom_it_names_from_who_sends_it() -> None:
    one = sent(recipient_id="c1-1-1", payload={"n": 1}, ttl=7, priority=2).message
    assert (one.sender_id, one.recipient_id, one.topic, one.root) == ("c1-1-0", "c1-1-1", None, "c1")
    assert (one.message_type, one.payload, one.ttl, one.priority) == (MessageType.EVENT, {"n": 1}, 7, 2)
    assert is_uuid4(one.message_id)


def test_parent_stands_for_who_began_it() -> None:
    assert sent(recipient_id="parent", payload={}).message.recipient_id == "c1"


def test_a_conversation_that_goes_on_from_another_has_no_parent() -> None:
    alone = talking("c2", parent_call="", root="", parent_id="c1")
    assert refused(conversation=alone, recipient_id="parent", payload={})["error"] == "no_parent"


def test_nobody_writes_to_itself() -> None:
    assert refused(recipient_id="c1-1-0", payload={})["error"] == "own_message"


def test_a_request_is_given_a_correlation_id_and_keeps_its_own() -> None:
    given = sent(recipient_id="c1", payload={}, message_type="request").message.correlation_id
    assert given and is_uuid4(given)
    own = sent(recipient_id="c1", payload={}, message_type="request", correlation_id=CORRELATION)
    assert own.message.correlation_id == CORRELATION


def test_what_is_published_has_a_topic_and_no_recipient() -> None:
    one = sent("publish", topic="navigation.complete", payload={}).message
    assert (one.topic, one.recipient_id, one.message_type) == ("navigation.complete", None, MessageType.EVENT)


@pytest.mark.parametrize(
    ("tool", "arguments", "wrong"),
    [
        ("send_message", {"recipient_id": "c1", "payload": {}, "message_type": "response"}, "correlation_id"),
        ("send_message", {"recipient_id": "c1", "payload": {}, "correlation_id": "corr-456"}, "version 4"),
        ("send_message", {"recipient_id": "c1", "payload": {"": "x" * MAX_PAYLOAD_BYTES}}, str(MAX_PAYLOAD_BYTES)),
        ("publish", {"topic": "navigation.*", "payload": {}}, "navigation.complete"),
        ("subscribe", {"topic": "navigation."}, "navigation.*"),
        ("receive_messages", {"topic": "a b"}, "navigation.*"),
    ],
)
def test_what_is_no_message_is_refused_in_one_sentence(tool: str, arguments: dict[str, Any], wrong: str) -> None:
    error = refused(tool, **arguments)
    assert error["error"] == "malformed_arguments"
    assert wrong in error["message"] and "\n" not in error["message"] and "Value error" not in error["message"]


def test_the_sender_is_told_how_far_its_message_went() -> None:
    asking = calling("send_message", recipient_id="c1", payload={}, message_type="request")
    (event,) = observe(asking, posted('{"to": 1, "refused": null}'), sight())
    moved, effects = step(asking, event, NOW)
    assert effects == [CallModel()]
    message = sent(recipient_id="c1", payload={}, message_type="request").message
    ids = {"message_id": message.message_id, "correlation_id": message.correlation_id}
    assert told(moved) == {**ids, "delivered_to": 1}


@pytest.mark.parametrize(
    "why", ["unknown_sender", "unknown_recipient", "recipient_ended", "mailbox_full", "no_such_request"]
)
def test_a_refused_message_is_an_error_that_says_what_to_do(why: Refused) -> None:
    moved = after(calling("send_message", recipient_id="c9", payload={}), Posted("1.0", Delivered(refused=why)))
    assert moved.runs[0].status == "tool_error"
    error = told(moved)
    assert error["error"] == why and error["fix"] and "{" not in error["message"]


def test_a_subscription_waits_for_the_ledgers_word_too() -> None:
    begun, effects = step(talking(), asks(call("subscribe", topic="navigation.*")), NOW)
    assert effects == [Subscribe("1.0", "navigation.*")]
    assert "navigation.*" in (after(begun, Posted("1.0", Delivered())).messages[-1].content or "")
    many = after(begun, Posted("1.0", Delivered(refused="too_many_subscriptions")))
    assert told(many)["error"] == "too_many_subscriptions"


def test_what_the_ledger_knows_nothing_of_is_sent_again_as_the_same_message() -> None:
    begun, first = step(talking(), asks(call("send_message", recipient_id="c1", payload={})), NOW)
    assert next_due(begun, {}, sight()) == NOW + UNPOSTED_S
    assert observe(begun, {}, sight(now=NOW + UNPOSTED_S - 0.1)) == []
    assert observe(begun, {}, sight(now=NOW + UNPOSTED_S)) == [Unposted("1.0")]
    again, second = step(begun, Unposted("1.0"), NOW + UNPOSTED_S)
    assert second == first
    assert next_due(again, {}, sight(now=NOW + UNPOSTED_S)) == NOW + 2 * UNPOSTED_S


def test_a_message_goes_out_while_other_calls_of_its_turn_run() -> None:
    effects = last_effects(talking(), asks(list_skills("a"), call("publish", "b", topic="t", payload={})))
    assert [type(effect).__name__ for effect in effects] == ["Deliver", "RunTool"]


def test_a_message_that_needs_leave_goes_out_when_it_has_it() -> None:
    asking = talking(rules=(Rule(verdict="ask", tool="send_message"),))
    waiting, effects = step(asking, asks(call("send_message", recipient_id="c1", payload={})), NOW)
    assert (waiting.status, effects) == ("waiting", [])
    (effect,) = last_effects(waiting, Decided("1.0", Decision(verdict="approved")))
    assert isinstance(effect, Deliver)


def test_what_became_of_it_is_heard_when_a_pause_is_over() -> None:
    paused = after(calling("send_message", recipient_id="c1", payload={}), Paused())
    records = posted('{"to": 1, "refused": null}')
    assert after(paused, *observe(paused, records, sight(pause=True))) == paused
    resumed = after(paused, *observe(paused, records, sight()))
    assert observe(paused, records, sight())[0] == Resumed()
    assert (resumed.out, told(resumed)["delivered_to"]) == ((), 1)


def test_followers_see_it_begin_and_what_it_has_come_to() -> None:
    before = talking()
    begun, effects = step(before, asks(call("publish", topic="t", payload={})), NOW)
    (_, begins) = changes(before, begun, effects)
    assert begins[0] == "call" and json.loads(begins[1])["own"]
    done, effects = step(begun, Posted("1.0", Delivered(to=3)), NOW)
    ends = dict(changes(begun, done, effects))
    assert json.loads(ends["result"])["tail"] == "delivered to 3"
