"""What whoever sends a message may count on, and who gets it, whichever the ledger."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conformance.ledgers import WORLDS, World, claimed
from tests.conformance.mail import (
    ROOT,
    deliver,
    end,
    listen,
    message,
    read,
    store,
    told,
    told_to_fleet,
    tree,
    with_call,
)

from skillfleet.conversations.ledger import LEASE_S, Nothing
from skillfleet.subagents.mailbox import MAX_MAILBOX, MAX_PAYLOAD_BYTES, SYSTEM, Delivered, Listening
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.contract import CallRef

CALL = CallRef(conversation_id="a", turn=1, index=0)
TO_ONE = Delivered(to=1)


@pytest.fixture(params=["memory", "redis"])
def world(request: pytest.FixtureRequest) -> World:
    urls = request.getfixturevalue("redis_urls") if request.param == "redis" else RedisUrls("")
    world = WORLDS[request.param](urls)
    tree(world, "a", "b", "c")
    return world


def test_a_message_is_handed_to_its_recipient_as_it_was_sent_with_the_time_of_its_delivery(world: World) -> None:
    listen(world)
    sent = message(payload={"location": "kitchen", "empty": [], "none": {}}, priority=2, ttl=9)
    assert world.ledger.deliver(sent, ROOT) == TO_ONE
    claim = claimed(world, "b")
    (mail,) = claim.mailbox
    assert abs(mail.message.timestamp - claim.now) < LEASE_S
    assert mail.message == sent.model_copy(update={"timestamp": mail.message.timestamp})


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(payload=st.dictionaries(st.text(), JSON, max_size=3))
def test_any_payload_comes_through_as_it_is(world: World, payload: dict[str, Any]) -> None:
    world.pass_time(3601)
    after = world.ledger.sent("0", 0)[-1:]
    sent = message(payload=payload, sender_id=SYSTEM, recipient_id=None, topic="t")
    world.ledger.deliver(sent, ROOT)
    ((_, found),) = world.ledger.sent(after[0][0] if after else "0", 0)
    assert found.payload == sent.payload


def test_messages_wait_in_the_order_in_which_they_came(world: World) -> None:
    for number in range(5):
        deliver(world, number, priority=10 - number)
    listen(world)
    assert [one.priority for one in read(world)] == [10, 9, 8, 7, 6]


def test_who_does_not_listen_is_not_woken_and_claims_without_its_mailbox(world: World) -> None:
    claim = claimed(world, "b")
    store(world, claim, claim.conversation)
    deliver(world)
    assert isinstance(world.ledger.claim("b"), Nothing)
    world.pass_time(600)
    assert claimed(world, "b").mailbox == ()


def test_who_listens_is_due_as_soon_as_a_message_comes(world: World) -> None:
    listen(world)
    assert isinstance(world.ledger.claim("b"), Nothing)
    deliver(world)
    assert len(claimed(world, "b").mailbox) == 1


def test_a_message_that_comes_after_the_claim_is_looked_at_next(world: World) -> None:
    listen(world)
    deliver(world, 0)
    claim = claimed(world, "b")
    deliver(world, 1)
    assert store(world, claim, claim.conversation, taken=(claim.mailbox[0].place,))
    assert [mail.message for mail in claimed(world, "b").mailbox] == [told_to_fleet(world)[1]]


def test_a_call_that_begins_to_listen_is_given_what_waits_already(world: World) -> None:
    deliver(world)
    listen(world)
    assert len(read(world)) == 1
    # Who has looked at it is due no sooner for it.
    assert isinstance(world.ledger.claim("b"), Nothing)


def test_a_second_call_that_begins_to_listen_is_given_what_the_first_has_left(world: World) -> None:
    listen(world)
    deliver(world)
    claim = claimed(world, "b")
    assert store(world, claim, with_call(claim.conversation, 1, listens=Listening()))
    assert len(claimed(world, "b").mailbox) == 1


def test_what_was_taken_is_never_handed_out_again(world: World) -> None:
    listen(world)
    for number in range(3):
        deliver(world, number)
    claim = claimed(world, "b")
    assert store(world, claim, claim.conversation, taken=(claim.mailbox[0].place, claim.mailbox[2].place), due_in=0)
    assert claimed(world, "b").mailbox == (claim.mailbox[1],)


def test_a_stale_fence_takes_nothing(world: World) -> None:
    listen(world)
    deliver(world)
    stale = claimed(world, "b")
    world.pass_time(LEASE_S)
    fresh = claimed(world, "b")
    assert not store(world, stale, stale.conversation, taken=(stale.mailbox[0].place,))
    assert store(world, fresh, fresh.conversation, due_in=0)
    assert len(read(world)) == 1


def test_an_expired_message_is_handed_to_nobody(world: World) -> None:
    listen(world)
    deliver(world, 0, ttl=9)
    deliver(world, 1, ttl=11)
    world.pass_time(10)
    assert [one.ttl for one in read(world)] == [11]


def test_sending_it_again_changes_nothing_and_is_answered_as_the_first(world: World) -> None:
    listen(world)
    assert [deliver(world, payload={"at": at}) for at in range(3)] == [TO_ONE] * 3
    assert [one.payload for one in read(world)] == [{"at": 0}]
    assert (len(told(world, "a")), len(told_to_fleet(world))) == (1, 1)
    end(world)
    assert deliver(world) == TO_ONE
    assert deliver(world, 1) == deliver(world, 1) == Delivered(refused="recipient_ended")


def test_a_message_that_many_send_at_once_is_one(world: World) -> None:
    listen(world)
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(lambda _: deliver(world), range(24))) == {TO_ONE}
    assert len(read(world)) == 1


@pytest.mark.parametrize(
    ("sender", "recipient", "refused"),
    [
        ("a", "nobody", "unknown_recipient"),
        ("a", "elsewhere", "unknown_recipient"),
        ("a", SYSTEM, "unknown_recipient"),
        ("nobody", "b", "unknown_sender"),
        ("elsewhere", "b", "unknown_sender"),
    ],
)
def test_nothing_crosses_the_bounds_of_a_tree(world: World, sender: str, recipient: str, refused: Any) -> None:
    tree(world, "below", root="elsewhere")
    assert deliver(world, sender_id=sender, recipient_id=recipient) == Delivered(refused=refused)
    assert told_to_fleet(world) == []


def test_the_top_of_a_tree_and_its_system_send_and_the_top_is_sent_to(world: World) -> None:
    assert deliver(world, 0, sender_id=ROOT) == TO_ONE
    assert deliver(world, 1, recipient_id=ROOT) == TO_ONE
    assert deliver(world, 2, sender_id=SYSTEM) == TO_ONE


def test_one_that_has_ended_is_sent_nothing_and_sends_nothing(world: World) -> None:
    end(world)
    assert deliver(world, 0).refused == "recipient_ended"
    assert deliver(world, 1, sender_id="b", recipient_id="a").refused == "unknown_sender"


def test_one_that_is_bound_to_end_is_sent_nothing(world: World) -> None:
    world.ledger.cancel("b")
    assert deliver(world).refused == "recipient_ended"


def test_a_full_mailbox_refuses_until_something_is_taken_or_expires(world: World) -> None:
    listen(world)
    for number in range(MAX_MAILBOX):
        assert deliver(world, number, ttl=10 if number else 60) == TO_ONE
    assert deliver(world, 256).refused == "mailbox_full"
    claim = claimed(world, "b")
    assert len(claim.mailbox) == MAX_MAILBOX
    assert store(world, claim, claim.conversation, taken=(claim.mailbox[0].place,))
    assert deliver(world, 257) == TO_ONE
    assert deliver(world, 258).refused == "mailbox_full"
    world.pass_time(10)
    assert deliver(world, 259) == TO_ONE
    assert len(read(world)) == 2


def test_the_biggest_payload_comes_through(world: World) -> None:
    listen(world)
    deliver(world, payload={"x": "ü" * ((MAX_PAYLOAD_BYTES - 9) // 2)})
    assert len(read(world)[0].payload["x"]) > 16_000  # type: ignore[arg-type]


def test_what_was_sent_stands_in_the_stream_of_its_sender(world: World) -> None:
    deliver(world, payload={"n": 1})
    (data,) = told(world, "a")
    assert data == told_to_fleet(world)[0].model_dump(mode="json")
    assert told(world, "b") == []


def test_what_the_system_sent_stands_in_the_stream_of_its_recipient_or_at_the_top(world: World) -> None:
    deliver(world, 0, sender_id=SYSTEM)
    deliver(world, 1, sender_id=SYSTEM, recipient_id=None, topic="news")
    assert [one["topic"] for one in told(world, "b")] == [None]
    assert [one["topic"] for one in told(world, ROOT)] == ["news"]


def test_what_was_refused_was_not_sent(world: World) -> None:
    end(world)
    deliver(world)
    assert (told(world, "a"), told_to_fleet(world)) == ([], [])


def test_the_sender_s_call_comes_to_what_became_of_it_and_the_sender_is_due(world: World) -> None:
    claim = claimed(world, "a")
    assert store(world, claim, with_call(claim.conversation))
    for _ in range(2):
        assert world.ledger.deliver(message(), ROOT, CALL) == TO_ONE
    claim = claimed(world, "a")
    assert Delivered.parse(claim.records["1.0"].posted) == TO_ONE
    assert store(world, claim, claim.conversation)
    world.ledger.deliver(message(), ROOT, CALL)
    assert isinstance(world.ledger.claim("a"), Nothing)


def test_a_refusal_comes_to_the_call_as_well_and_a_holder_who_has_not_seen_it_looks_next(world: World) -> None:
    end(world)
    claim = claimed(world, "a")
    assert store(world, claim, with_call(claim.conversation), due_in=0)
    claim = claimed(world, "a")
    world.ledger.deliver(message(), ROOT, CALL)
    assert store(world, claim, claim.conversation)
    posted = claimed(world, "a").records["1.0"].posted
    assert Delivered.parse(posted) == Delivered(refused="recipient_ended")


def test_nothing_is_noted_for_a_sender_that_has_ended(world: World) -> None:
    end(world, "a")
    before = world.ledger.entries("a", "0", 0)
    assert world.ledger.deliver(message(), ROOT, CALL).refused == "unknown_sender"
    assert world.ledger.entries("a", "0", 0) == before
    assert world.ledger.claim("a") == Nothing(None)


def test_the_states_are_those_of_the_conversations_that_are_kept(world: World) -> None:
    listen(world)
    end(world, "c")
    assert world.ledger.states(["b", "nobody", "c", "a", "a"]) == {"b": "running", "c": "cancelled", "a": "queued"}
    assert world.ledger.states([]) == {}


def test_the_fleet_s_messages_are_read_on_from_any_of_them_and_waited_for(world: World) -> None:
    assert world.ledger.sent("$", 0.01) == []
    deliver(world, 0)
    deliver(world, 1)
    (first, one), (second, other) = world.ledger.sent("0", 0)
    assert world.ledger.sent(first, 0) == [(second, other)]
    assert one.message_id == message(0).message_id
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(world.ledger.sent, second, 4.0)
        deliver(world, 2)
        assert [found.message_id for _, found in waiting.result()] == [message(2).message_id]


def test_pausing_one_that_listens_is_seen_at_once(world: World) -> None:
    listen(world)
    world.ledger.pause("b")
    assert claimed(world, "b").pause
