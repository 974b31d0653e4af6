"""The driver, with conversations that send each other messages, over a ledger in memory."""

from collections.abc import Iterator
from typing import Any

import pytest
import redis
from tests.conversation_steps import make_spec
from tests.mail_steps import TOOLS
from tests.orchestrator.driver_parts import Place

from skillfleet.conversations.mail_looks import UNPOSTED_S
from skillfleet.conversations.memory_ledger import MemoryLedger
from skillfleet.subagents.mailbox import AgentMessage, Delivered, MessageType
from skillfleet_workers.wire.contract import CallRef
from skillfleet_workers.wire.uuids import uuid_of


class Forgetful(MemoryLedger):
    """Its first message is lost on the way."""

    lost = 0

    def deliver(self, message: AgentMessage, root: str, call: CallRef | None = None) -> Delivered:
        if not self.lost:
            self.lost += 1
            raise redis.ConnectionError("gone")
        return super().deliver(message, root, call)


@pytest.fixture
def place() -> Iterator[Place]:
    here = Place()
    with here.working():
        yield here


def submit(place: Place, name: str, *replies: object, root: str = "") -> None:
    script = {"replies": [one if isinstance(one, dict) else {"text": one} for one in replies]}
    spec = make_spec(name)
    tools = (*spec.tools, *TOOLS)
    place.ledger.submit(spec.model_copy(update={"script": script, "root": root, "tools": tools, "subagents": True}))


def calls(tool: str, alias: str | None = None, **arguments: object) -> dict[str, object]:
    named = {"as": alias} if alias else {}
    return {"calls": [{"tool": tool, "arguments": arguments, **named}]}


def receive(**wanted: object) -> dict[str, object]:
    return calls("receive_messages", "got", timeout=600, **wanted)


def send(recipient: str, **payload: object) -> dict[str, object]:
    return calls("send_message", "sent", recipient_id=recipient, payload=payload)


def test_many_that_wait_for_each_other_share_one_slot(place: Place) -> None:
    names = [f"c{number}" for number in range(10)]
    for name, after in zip(names[1:], [*names[2:], "c0"], strict=True):
        submit(place, name, receive(), send(after, n=1), "${got.0.sender_id}", root="c0")
    submit(place, "c0", send("c1", n=1), receive(), "${got.0.sender_id}")
    with place.driving(slots=1):
        assert [place.ended(name).answer for name in names] == ["c9", *names[:-1]]


def test_what_was_lost_on_the_way_is_sent_again_and_comes_once(place: Place) -> None:
    submit(place, "c1", send("c2", n=1), "${sent.delivered_to}")
    submit(place, "c2", receive(), "${got.0.payload.n}", root="c1")
    ledger = Forgetful(place.store)
    with place.driving(ledger=ledger):
        place.until(lambda: ledger.lost, "the message is lost")
        place.pass_time(UNPOSTED_S)
        assert [place.ended(name).answer for name in ("c1", "c2")] == ["1", "1"]
    handed = [entry for entry in place.ledger.entries("c2", "0", 0) if entry.type == "handed"]
    assert [len(entry.data["message_ids"]) for entry in handed] == [1]


def test_a_person_may_ask_and_is_answered(place: Place) -> None:
    question = {"correlation_id": uuid_of("q"), "recipient_id": "c1", "sender_id": "system"}
    answer: dict[str, Any] = {
        "recipient_id": "system",
        "message_type": "response",
        "correlation_id": uuid_of("q"),
        "payload": {"n": 3},
    }
    submit(place, "c1", receive(), calls("send_message", **answer), "Told.")
    with place.driving():
        asked = AgentMessage(message_id=uuid_of("m"), message_type=MessageType.REQUEST, payload={}, **question)
        place.ledger.deliver(asked, "c1")
        assert place.ended("c1").answer == "Told."
    assert [message.payload for _, message in place.ledger.sent("0", 0)] == [{}, {"n": 3}]


def test_a_pause_holds_messages_back_and_the_wait_goes_on_after_it(place: Place) -> None:
    submit(place, "c1", receive(), "${got.0.payload.n}")
    with place.driving():
        place.followed("c1", until="call")
        place.ledger.pause("c1")
        place.followed("c1", until="paused")
        message = AgentMessage(
            message_id=uuid_of("m"), sender_id="system", recipient_id="c1", ttl=3600,
            message_type=MessageType.EVENT, payload={"n": 1},
        )  # fmt: skip
        place.ledger.deliver(message, "c1")
        place.pass_time(900)
        assert not [entry for entry in place.ledger.entries("c1", "0", 0) if entry.type == "handed"]
        place.ledger.resume("c1")
        assert place.ended("c1").answer == "1"
