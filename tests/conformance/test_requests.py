"""Requests and their answers, whichever the ledger."""

import pytest
from tests.conformance.ledgers import WORLDS, World, claimed
from tests.conformance.mail import CORRELATION, answered, asked, deliver, end, listen, read, store, told, tree

from skillfleet.conversations.ledger import Nothing
from skillfleet.subagents.mailbox import MAX_MAILBOX, SYSTEM, Delivered
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.uuids import uuid_of

OTHER = uuid_of("another question")
TO_ONE, UNASKED = Delivered(to=1), Delivered(refused="no_such_request")


@pytest.fixture(params=["memory", "redis"])
def world(request: pytest.FixtureRequest) -> World:
    urls = request.getfixturevalue("redis_urls") if request.param == "redis" else RedisUrls("")
    world = WORLDS[request.param](urls)
    tree(world, "a", "b", "c")
    return world


@pytest.mark.parametrize("kind", ["response", "error"])
def test_a_request_is_answered_once(world: World, kind: str) -> None:
    assert asked(world) == TO_ONE
    listen(world, "a")
    assert answered(world, 1, message_type=kind) == TO_ONE
    assert answered(world, 2, message_type=kind) == UNASKED
    assert [(one.message_type, one.correlation_id) for one in read(world, "a")] == [(kind, CORRELATION)]


def test_the_same_answer_once_more_is_answered_as_the_first(world: World) -> None:
    asked(world)
    assert answered(world, 1) == answered(world, 1) == TO_ONE


def test_only_who_was_asked_answers_and_only_who_has_asked_is_answered(world: World) -> None:
    asked(world)
    assert answered(world, 1, sender_id="c") == UNASKED
    assert answered(world, 2, recipient_id="c") == UNASKED
    assert answered(world, 3, correlation_id=OTHER) == UNASKED
    assert answered(world, 4, sender_id="a", recipient_id="b") == UNASKED
    assert answered(world, 5, sender_id=SYSTEM) == UNASKED
    assert answered(world, 6) == TO_ONE


def test_two_may_ask_under_one_correlation_id(world: World) -> None:
    asked(world, 0)
    asked(world, 1, sender_id="c")
    assert answered(world, 2, recipient_id="c") == TO_ONE
    assert answered(world, 3) == TO_ONE


def test_an_error_that_answers_nothing_is_a_message_as_any_other(world: World) -> None:
    assert answered(world, message_type="error", correlation_id=None) == TO_ONE


def test_what_is_asked_in_vain_is_no_request(world: World) -> None:
    for number in range(MAX_MAILBOX):
        deliver(world, number)
    assert asked(world, 300) == Delivered(refused="mailbox_full")
    assert answered(world, 301) == UNASKED


def test_an_expired_request_is_answered_no_more(world: World) -> None:
    asked(world, 0, ttl=20)
    asked(world, 1, ttl=9, correlation_id=OTHER)
    world.pass_time(10)
    assert answered(world, 2, correlation_id=OTHER) == UNASKED
    assert answered(world, 3) == TO_ONE


def test_an_answer_that_finds_no_room_can_be_given_later(world: World) -> None:
    asked(world)
    for number in range(1, MAX_MAILBOX + 1):
        deliver(world, number, recipient_id="a", sender_id="b", ttl=10)
    assert answered(world, 300).refused == "mailbox_full"
    world.pass_time(10)
    assert answered(world, 301) == TO_ONE


def test_requests_that_are_read_and_not_answered_are_bounded(world: World) -> None:
    listen(world)
    for number in range(MAX_MAILBOX):
        assert asked(world, number, correlation_id=uuid_of(f"q{number}"), ttl=600 if number else 5) == TO_ONE
    claim = claimed(world, "b")
    assert store(world, claim, claim.conversation, taken=tuple(mail.place for mail in claim.mailbox))
    assert asked(world, 300) == Delivered(refused="mailbox_full")
    assert deliver(world, 301) == TO_ONE
    world.pass_time(5)
    assert asked(world, 302) == TO_ONE


def test_who_waits_for_the_answer_of_one_that_ends_is_told(world: World) -> None:
    asked(world, 0, ttl=600)
    asked(world, 1, ttl=9, correlation_id=OTHER)
    listen(world, "a")
    world.pass_time(10)
    end(world)
    (error,) = read(world, "a")
    assert (error.sender_id, error.message_type, error.recipient_id) == (SYSTEM, "error", "a")
    assert error.correlation_id == CORRELATION
    assert error.payload == {"error": "recipient_ended", "recipient_id": "b", "status": "cancelled"}
    assert 580 < error.ttl <= 600
    assert [one["message_type"] for one in told(world, "a")] == ["request", "request", "error"]
    assert told(world, "a")[-1] == error.model_dump(mode="json")
    assert answered(world, 2).refused == "unknown_sender"


def test_all_that_wait_for_it_are_told_though_their_mailboxes_are_full(world: World) -> None:
    asked(world, 0)
    asked(world, 1, sender_id="c")
    for number in range(2, MAX_MAILBOX + 2):
        deliver(world, number, recipient_id="a", sender_id="b")
    end(world)
    for name, count in (("a", MAX_MAILBOX + 1), ("c", 1)):
        listen(world, name)
        found = read(world, name)
        assert (len(found), found[-1].message_type) == (count, "error")


def test_one_that_was_answered_is_told_of_no_end(world: World) -> None:
    asked(world)
    answered(world)
    end(world)
    listen(world, "a")
    assert [one.message_type for one in read(world, "a")] == ["response"]


def test_the_end_of_both_is_told_to_nobody(world: World) -> None:
    asked(world)
    end(world, "a")
    before = world.ledger.entries("a", "0", 0)
    end(world, "b")
    assert world.ledger.entries("a", "0", 0) == before
    assert world.ledger.claim("a") == Nothing(None)


def test_an_end_that_a_stale_fence_writes_is_told_to_nobody(world: World) -> None:
    asked(world)
    claim = claimed(world, "b")
    world.pass_time(30)
    fresh = claimed(world, "b")
    ended = claim.conversation.model_copy(update={"status": "failed"})
    assert not store(world, claim, ended, due_in=None)
    assert store(world, fresh, fresh.conversation)
    assert answered(world) == TO_ONE


def test_a_request_of_the_system_is_answered_for_all_to_see(world: World) -> None:
    asked(world, 0, sender_id=SYSTEM)
    assert answered(world, 1, recipient_id=SYSTEM) == TO_ONE
    assert answered(world, 2, recipient_id=SYSTEM) == UNASKED
    assert [one.recipient_id for _, one in world.ledger.sent("0", 0)] == ["b", SYSTEM]
    assert [one["recipient_id"] for one in told(world, "b")] == ["b", SYSTEM]
