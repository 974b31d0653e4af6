"""Calls that wait for messages, step by step."""

import json
from typing import Any

from tests.conversation_steps import NOW, after, asks, call, finished, list_skills
from tests.mail_steps import calling, mail, message, published, sight, talking

from skillfleet.conversations.engine import step, wanted
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import (
    CallModel,
    CancelRequested,
    MailCame,
    Paused,
    Resumed,
    TakeMail,
    TimeShort,
    WaitOver,
)
from skillfleet.conversations.schedule import next_due, observe
from skillfleet.events import changes
from skillfleet.subagents.mailbox import MAX_PAYLOAD_BYTES, Listening, Mail, fits, pick
from skillfleet_workers.wire.uuids import uuid_of

TIMEOUT_S = 20


def waiting(**arguments: Any) -> Conversation:
    return calling("receive_messages", **{"timeout": TIMEOUT_S, **arguments})


def shown(conversation: Conversation) -> Any:
    return json.loads(conversation.messages[-1].content or "")


def names(taken: tuple[Mail, ...]) -> list[str]:
    return [one.place for one in taken]


def test_who_has_just_begun_to_listen_is_looked_at_at_once_and_then_when_its_time_is_over() -> None:
    begun, effects = step(talking(), asks(call("receive_messages", timeout=TIMEOUT_S)), NOW)
    assert effects == []
    assert next_due(begun, {}, sight()) == NOW
    assert next_due(begun, {}, sight(listening=["1.0"])) == NOW + TIMEOUT_S


def test_a_message_that_is_there_is_handed_out_and_leaves_the_mailbox() -> None:
    conversation, came = waiting(), mail(priority=3, correlation_id=uuid_of("q"))
    (event,) = observe(conversation, {}, sight(came))
    moved, effects = step(conversation, event, NOW + 2)
    assert effects == [TakeMail("1.0", (came,)), CallModel()]
    assert shown(moved) == [
        {
            "message_id": uuid_of("m"),
            "sender_id": "c1",
            "message_type": "event",
            "payload": {"of": "m"},
            "priority": 3,
            "correlation_id": uuid_of("q"),
            "age": 2.0,
        }
    ]
    told = [json.loads(data) for kind, data in changes(conversation, moved, effects) if kind == "handed"]
    assert told == [{"key": "1.0", "message_ids": [uuid_of("m")]}]


def test_where_none_comes_in_time_the_model_is_told_so() -> None:
    conversation = waiting()
    assert observe(conversation, {}, sight(now=NOW + TIMEOUT_S - 0.1)) == []
    (event,) = observe(conversation, {}, sight(now=NOW + TIMEOUT_S))
    assert event == WaitOver("1.0")
    moved, effects = step(conversation, event, NOW + TIMEOUT_S)
    assert effects == [CallModel()]
    assert (moved.messages[-1].content or "").startswith("[]\nNo message")


def test_without_a_wait_what_is_there_is_handed_out_all_the_same() -> None:
    assert observe(waiting(timeout=0), {}, sight(mail())) == [MailCame("1.0", (mail(),))]
    assert observe(waiting(timeout=0), {}, sight()) == [WaitOver("1.0")]


def test_no_message_is_handed_out_at_or_after_its_end() -> None:
    listening, one = Listening(), mail(ttl=5)
    assert pick([one], listening, NOW + 4.999) == (one,)
    assert pick([one], listening, NOW + 5) == ()


def test_the_most_urgent_come_first_then_the_oldest_and_no_more_than_are_wanted() -> None:
    box = [mail("a", priority=5), mail("b", priority=1), mail("c", priority=5), mail("d", priority=1)]
    assert names(pick(box, Listening(limit=3), NOW)) == ["b", "d", "a"]


def test_only_what_was_asked_for_is_handed_out() -> None:
    box = [published("a", "navigation.complete"), published("b", "vision"), mail("c", correlation_id=uuid_of("q"))]
    assert names(pick(box, Listening(topic="navigation.*"), NOW)) == ["a"]
    assert names(pick(box, Listening(correlation_id=uuid_of("q")), NOW)) == ["c"]
    assert names(pick(box, Listening(), NOW)) == ["a", "b", "c"]


def test_what_would_be_too_much_to_show_at_once_waits_for_the_next_call() -> None:
    big = {"text": "x" * (MAX_PAYLOAD_BYTES - 100)}
    box = [mail("a", payload=big), mail("b", payload=big), mail("c")]
    assert names(pick(box, Listening(), NOW)) == ["a"]
    assert names(pick(box[1:], Listening(), NOW)) == ["b", "c"]


def test_two_calls_of_one_turn_never_get_the_same_message() -> None:
    two = after(talking(), asks(call("receive_messages", "a"), call("receive_messages", "b")))
    assert observe(two, {}, sight(mail("m"))) == [MailCame("1.0", (mail("m"),))]
    limited = after(talking(), asks(call("receive_messages", "a", limit=1), call("receive_messages", "b")))
    events = observe(limited, {}, sight(mail("m"), mail("n")))
    assert events == [MailCame("1.0", (mail("m"),)), MailCame("1.1", (mail("n"),))]


def test_nothing_is_handed_out_while_it_is_paused_and_its_time_stands() -> None:
    paused = after(waiting(), Paused())
    assert after(paused, *observe(paused, {}, sight(mail(), now=NOW + 90, pause=True))) == paused
    resumed = paused.model_copy(update={"paused_s": 60.0})
    assert observe(resumed, {}, sight(now=NOW + 60 + TIMEOUT_S - 0.1)) == [Resumed()]
    assert observe(resumed, {}, sight(now=NOW + 60 + TIMEOUT_S)) == [Resumed(), WaitOver("1.0")]
    moved = after(resumed, *observe(resumed, {}, sight(mail(ttl=900), now=NOW + 60)), now=NOW + 60)
    assert moved.out == ()


def test_a_wait_that_begins_after_a_pause_is_as_long_as_any_other() -> None:
    rested = talking().model_copy(update={"paused_s": 60.0})
    begun = after(rested, asks(call("receive_messages", timeout=TIMEOUT_S)))
    assert next_due(begun, {}, sight(listening=["1.0"])) == NOW + TIMEOUT_S


def test_to_wait_again_and_again_is_no_repetition() -> None:
    conversation, wait = talking(), asks(call("receive_messages", timeout=TIMEOUT_S))
    for turn in range(1, 7):
        conversation = after(conversation, wait)
        assert [run.key for run in conversation.out] == [f"{turn}.0"]
        conversation = after(conversation, WaitOver(f"{turn}.0"))


def test_a_second_word_to_the_same_call_changes_nothing() -> None:
    done = after(waiting(), MailCame("1.0", (mail(),)))
    assert step(done, MailCame("1.0", (mail("n"),)), NOW) == (done, [])
    assert step(done, WaitOver("1.0"), NOW) == (done, [])


def test_the_conversations_own_end_ends_the_wait() -> None:
    assert after(waiting(), TimeShort()).out == ()
    assert after(waiting(), CancelRequested()).status == "cancelled"
    late = talking().model_copy(update={"spec": talking().spec.model_copy(update={"created_at": NOW - 800})})
    begun = after(late, asks(call("receive_messages", timeout=3600)))
    assert next_due(begun, {}, sight(listening=["1.0"])) == begun.closes_at < NOW + 3600


def test_what_stands_in_the_transcript_of_one_that_ends_has_left_its_mailbox() -> None:
    moved, effects = waiting(), []
    for event in (MailCame("1.0", (mail(),)), CancelRequested()):
        moved, more = step(moved, event, NOW)
        effects += more
    assert moved.status == "cancelled" and "c1" in (moved.messages[-1].content or "")
    assert TakeMail("1.0", (mail(),)) in wanted(moved, effects)


def test_a_call_that_listens_leaves_the_others_of_its_turn_alone() -> None:
    both = after(talking(), asks(list_skills("a"), call("receive_messages", "b", timeout=TIMEOUT_S)))
    moved, effects = step(both, MailCame("1.1", (mail(),)), NOW)
    assert effects == [TakeMail("1.1", (mail(),))]
    assert step(moved, finished("1.0"), NOW)[1] == [CallModel()]


def test_a_pattern_stands_for_topics_word_by_word() -> None:
    heard = {"*": ["a", "a.b"], "a.*": ["a.b", "a.b.c"], "a.*.c": ["a.b.c"], "*.b": ["a.b"], "a": ["a"]}
    topics = ["a", "b.c.d", "a.b", "a.b.c", "ab"]
    found = {pattern: [topic for topic in topics if fits(pattern, topic)] for pattern in heard}
    assert found == heard | {"*": topics}


def test_a_message_of_a_topic_tells_which() -> None:
    (one,) = (published("m", "navigation.complete"),)
    assert shown(after(waiting(), MailCame("1.0", (one,))))[0]["topic"] == "navigation.complete"
    assert "topic" not in message().model_dump(exclude_none=True)
