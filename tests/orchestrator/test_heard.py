"""What waits to be told of a reply, piece by piece."""

import json
from typing import Any, cast

import pytest

from skillfleet.conversations.heard import MOST_CALLS, MOST_WAITING, NAME_CHARS, HeardReply
from skillfleet.llm.base import Again, Calling, Piece, Said


def taken(reply: HeardReply) -> list[tuple[str, dict[str, Any]]]:
    return [(kind, json.loads(data)) for kind, data in reply.take()]


def token(at: int, text: str, attempt: int = 1, skipped: int = 0) -> tuple[str, dict[str, Any]]:
    return "token", {"turn": 3, "attempt": attempt, "at": at, "text": text, "skipped": skipped}


def argument(index: int, at: int, text: str, skipped: int = 0) -> tuple[str, dict[str, Any]]:
    named = {"index": index, "name": f"tool{index}"}
    return "arguments", {"turn": 3, "attempt": 1, **named, "at": at, "text": text, "skipped": skipped}


def heard(*pieces: Piece) -> HeardReply:
    reply = HeardReply(3)
    for piece in pieces:
        reply.hear(piece)
    return reply


def test_pieces_of_text_are_told_together_and_each_once() -> None:
    reply = heard(Said("It "), Said("is "))
    assert taken(reply) == [token(0, "It is ")]
    reply.hear(Said("42"))
    assert taken(reply) == [token(6, "42")]
    assert taken(reply) == []


def test_arguments_are_told_by_call_beside_the_text() -> None:
    reply = heard(Said("So: "), Calling(0, "tool0", '{"a'), Calling(1, "tool1", "{"), Calling(0, "", '": 1'))
    assert taken(reply) == [token(0, "So: "), argument(0, 0, '{"a": 1'), argument(1, 0, "{")]
    reply.hear(Calling(0, "tool0", "}"))
    assert taken(reply) == [argument(0, 7, "}")]


def test_a_call_is_told_of_once_its_name_is_known() -> None:
    reply = heard(Calling(0, "tool0", ""))
    assert taken(reply) == [argument(0, 0, "")]
    assert not reply.hear(Calling(0, "tool0", ""))


def test_what_was_said_before_the_model_is_asked_again_is_taken_back_and_counted_anew() -> None:
    reply = heard(Said("It is"))
    reply.take()
    for piece in (Said(" 4"), Calling(0, "tool0", "{"), Again(), Said("It")):
        reply.hear(piece)
    assert taken(reply) == [("again", {"turn": 3, "attempt": 2}), token(0, "It", 2)]
    reply.hear(Again())
    assert taken(reply) == [("again", {"turn": 3, "attempt": 3})]


def test_what_was_not_told_is_told_as_skipped() -> None:
    reply = heard(Said("one "))
    reply.take()
    reply.hear(Said("two "))
    reply.take()
    reply.lose()
    reply.hear(Said("three "))
    reply.skip()
    reply.hear(Said("four"))
    assert taken(reply) == [token(14, "four", skipped=10)]
    reply.hear(Said("!"))
    assert taken(reply) == [token(18, "!")]


def test_what_is_lost_of_one_line_leaves_the_others_as_they_were_told() -> None:
    reply = heard(Said("one "))
    reply.take()
    reply.hear(Calling(0, "tool0", "{}"))
    reply.take()
    reply.lose()
    reply.hear(Said("two"))
    assert taken(reply) == [token(4, "two")]


def test_however_much_is_said_little_waits_and_the_newest_stays() -> None:
    reply = heard(*[Said("x" * 1000)] * 100, Calling(0, "tool0", "y" * MOST_WAITING * 2))
    ((kind, data),) = taken(reply)
    assert (kind, data["at"], data["skipped"], len(data["text"])) == ("arguments", *[MOST_WAITING] * 3)
    reply.hear(Said("end"))
    assert taken(reply) == [token(100_000, "end", skipped=100_000)]


NOTHING: list[Any] = [
    Said(""), Calling(MOST_CALLS, "tool", "{"), Calling(-1, "tool", "{"), Said(cast(str, None)),
    Calling(cast(int, "0"), "tool", "{"), None, "text",
]  # fmt: skip


@pytest.mark.parametrize("piece", NOTHING, ids=repr)
def test_what_says_nothing_is_not_told(piece: Any) -> None:
    reply = HeardReply(3)
    assert not reply.hear(piece)
    assert taken(reply) == []


def test_an_endless_name_of_a_tool_is_told_cut_to_what_a_name_has() -> None:
    (_, told), *_ = taken(heard(Calling(0, "n" * 1_000_000, "{")))
    assert (len(told["name"]), told["text"]) == (NAME_CHARS, "{")
